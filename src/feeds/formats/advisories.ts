/**
 * Reads feeds of package advisories. The format of a record is detected by its members: an advisory document (schema
 * 2.x), the `security.json` of a package repository (secdb), or an OpenVEX document. Each yields documents, one for a
 * package, and equivalent advisories.
 */
import type { Document } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import type { Advisory } from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { formatPackageUrl, type PackageKind } from "../../package-url.ts";
import { Fields, type Unread } from "../records/fields.ts";
import { FeedRefusal, ForeignRecord } from "../source/refusal.ts";
import { documentIgnored, isAdvisoryDocument, readAdvisoryDocument } from "./advisories-document.ts";
import { advisoriesOf, timeOf } from "./advisories-of-document.ts";
import { isOpenVex, isVexIndex, openVexIgnored, readOpenVex } from "./openvex.ts";
import type { Published } from "./published.ts";
import { isSecdb, readSecdb, secdbIgnored } from "./secdb.ts";

/** A distribution and its release, if known, as in package URLs. */
export type Distribution = Pick<PackageKind, "namespace" | "distro">;

/** Parses a distribution like `alpine-3.19`, `debian-12` or `wolfi`; undefined for an invalid one. */
export function parseDistribution(text: string): Distribution | undefined {
  const [, namespace, release] = /^([a-z][a-z0-9.]*(?:-[a-z][a-z0-9.]*)*)(-[0-9][a-z0-9._]*)?$/.exec(text) ?? [];
  if (namespace === undefined) return undefined;
  return release === undefined ? { namespace } : { namespace, distro: text };
}

/** The formats of advisories. */
export type AdvisoryFormat = "document" | "secdb" | "openvex";

/** The advisories of one package. */
export interface PackageAdvisories {
  readonly format: AdvisoryFormat;
  readonly document: Document;
  /**
   * The part of the feed that the record is, where other parts may say more about the package: its repository, or
   * undefined for its file. "" if the record says all.
   */
  readonly part: string | undefined;
  /** Advisories without uids, one for each of the document, in its order. */
  readonly advisories: readonly Advisory[];
}

/** A format: how its records are known, their reader, and the members that it ignores on purpose. */
interface Format {
  readonly name: AdvisoryFormat;
  readonly isFormat: (record: unknown) => boolean;
  readonly read: (fields: Fields) => (Published | FeedRefusal)[];
  readonly ignored: ReadonlySet<string>;
}

/**
 * Reads the packages of a record, with events newest first, and refusals of packages or parts of them that are invalid.
 * @param distribution distribution of the packages, if the record does not name it. Errors: FeedRefusal for the whole
 * record; ForeignRecord if it is of no format, or the index of a VEX repository.
 */
export function readAdvisories(
  record: unknown,
  unread: Unread,
  distribution: Distribution = {},
): (PackageAdvisories | FeedRefusal)[] {
  const format = formatOf(record);
  const fields = new Fields(record);
  const items = format.read(fields).map((read) => {
    if (read instanceof FeedRefusal) return read;
    const { document, publication, release, repository = "" } = read;
    const kind = { type: publication.artifactType ?? "", ...ofRelease(distribution, release) };
    for (const advisory of document.advisories) {
      advisory.events.sort((a, b) => timeOf(b) - timeOf(a));
      advisory.packageUrl ||= formatPackageUrl(kind, document.id);
    }
    const part = publication.artifactType === undefined ? undefined : repository;
    return { format: format.name, document, part, advisories: advisoriesOf(document, publication) };
  });
  fields.reportUnread(format.ignored, unread);
  return items;
}

function ofRelease({ namespace, distro }: Distribution, release: string | undefined): Distribution {
  const isNew = namespace !== undefined && distro === undefined && release !== undefined;
  return { namespace, distro: isNew ? `${namespace}-${release}` : distro };
}

const formats: readonly Format[] = [
  { name: "document", isFormat: isAdvisoryDocument, read: readAdvisoryDocument, ignored: documentIgnored },
  { name: "secdb", isFormat: isSecdb, read: readSecdb, ignored: secdbIgnored },
  { name: "openvex", isFormat: isOpenVex, read: readOpenVex, ignored: openVexIgnored },
];

/** Errors: ForeignRecord. */
function formatOf(record: unknown): Format {
  const format = formats.find(({ isFormat }) => isFormat(record));
  if (format !== undefined) return format;
  if (isVexIndex(record)) throw new ForeignRecord("is an index of a VEX repository", { isIndex: true });
  throw new ForeignRecord("is not an advisory document (schema-version), secdb (packages) or OpenVEX (@context)");
}
