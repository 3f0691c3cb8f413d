/**
 * Feeds of package advisories, told apart by what is in a record: an advisory document (schema 2.x), the `security.json` of a package repository
 * (secdb), or an OpenVEX document. Each gives documents, one for a package, and the advisories that say the same.
 */
import type { Document } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import type { Advisory } from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { formatPackageUrl, type PackageKind } from "../../package-url.ts";
import { FeedRefusal, Fields, type Unread } from "../fields.ts";
import { documentUnread, readAdvisoryDocument } from "./advisories-document.ts";
import { advisoriesOf, type Publication, timeOf } from "./advisories-of-document.ts";
import { openVexUnread, readOpenVex } from "./openvex.ts";
import { readSecdb, secdbUnread } from "./secdb.ts";

/** A distribution, and its release where that is known, as package URLs name them. */
export type Distribution = Pick<PackageKind, "namespace" | "distro">;

/** What `alpine-3.19`, `debian-12` or `wolfi` names; undefined for what names no distribution. */
export function parseDistribution(text: string): Distribution | undefined {
  const [, namespace, release] = /^([a-z][a-z0-9.]*(?:-[a-z][a-z0-9.]*)*)(-[0-9][a-z0-9._]*)?$/.exec(text) ?? [];
  if (namespace === undefined) return undefined;
  return release === undefined ? { namespace } : { namespace, distro: text };
}

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
  /** The release of the distribution that the packages are of: `3.19`. */
  readonly release?: string | undefined;
}

/** A format: its reader, and the members that it knows and does not read. */
interface Format {
  readonly read: (fields: Fields) => (Published | FeedRefusal)[];
  readonly unread: ReadonlySet<string>;
}

/**
 * All packages that a record is about, their events newest first; for a package, or a part of it, that cannot be taken while others can, why.
 * @param distribution whose packages they are where the record does not say.
 * Errors: FeedRefusal.
 */
export function readAdvisories(
  record: unknown,
  unread: Unread,
  distribution: Distribution = {},
): (PackageAdvisories | FeedRefusal)[] {
  const fields = new Fields(record);
  const format = formatOf(fields);
  const items = format.read(fields).map((read) => {
    if (read instanceof FeedRefusal) return read;
    const { document, publication, release } = read;
    const kind = { type: publication.artifactType, ...ofRelease(distribution, release) };
    for (const advisory of document.advisories) {
      advisory.events.sort((a, b) => timeOf(b) - timeOf(a));
      advisory.packageUrl ||= formatPackageUrl(kind, document.id);
    }
    return { document, advisories: advisoriesOf(document, publication) };
  });
  fields.tellUnread(format.unread, unread);
  return items;
}

function ofRelease({ namespace, distro }: Distribution, release: string | undefined): Distribution {
  const isNew = namespace !== undefined && distro === undefined && release !== undefined;
  return { namespace, distro: isNew ? `${namespace}-${release}` : distro };
}

function formatOf(fields: Fields): Format {
  if (fields.has("schema-version")) return { read: readAdvisoryDocument, unread: documentUnread };
  if (fields.has("packages")) return { read: readSecdb, unread: secdbUnread };
  if (fields.has("@context")) return { read: readOpenVex, unread: openVexUnread };
  throw new FeedRefusal("is none of advisory document (schema-version), secdb (packages) and OpenVEX (@context)");
}
