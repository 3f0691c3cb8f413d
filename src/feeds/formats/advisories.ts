/**
 * Feeds of package advisories, told apart by what is in a record: an advisory document (schema 2.x), the `security.json` of a package repository
 * (secdb), or an OpenVEX document. Each gives documents, one for a package, and the advisories that say the same.
 */
import type { Document } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import type { Advisory } from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { FeedRefusal, Fields } from "../fields.ts";
import { readAdvisoryDocument } from "./advisories-document.ts";
import { advisoriesOf, type Publication } from "./advisories-of-document.ts";
import { readOpenVex } from "./openvex.ts";
import { readSecdb } from "./secdb.ts";

/** What a feed says of one package. */
export interface PackageAdvisories {
  readonly document: Document;
  /** Without uids; one for each advisory of the document, in its order. */
  readonly advisories: readonly Advisory[];
}

/** What a format reads: a document, and what advisories have beside what stands in it. */
export interface Published {
  readonly document: Document;
  readonly publication: Publication;
}

/** All packages that a record is about; for a package that cannot be taken while the others can, why. Errors: FeedRefusal. */
export function readAdvisories(record: unknown): (PackageAdvisories | FeedRefusal)[] {
  const fields = new Fields(record);
  return formatOf(fields)(fields).map((read) => {
    if (read instanceof FeedRefusal) return read;
    const { document, publication } = read;
    return { document, advisories: advisoriesOf(document, publication) };
  });
}

function formatOf(fields: Fields): (fields: Fields) => (Published | FeedRefusal)[] {
  if (fields.has("schema-version")) return readAdvisoryDocument;
  if (fields.has("packages")) return readSecdb;
  if (fields.has("@context")) return readOpenVex;
  throw new FeedRefusal("is none of advisory document (schema-version), secdb (packages) and OpenVEX (@context)");
}
