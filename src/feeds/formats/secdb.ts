/**
 * The `security.json` of a package repository (secdb): `packages[].pkg` of `name` and `secfixes`. `secfixes` lists the
 * vulnerabilities that each version fixed (`"1.2.3-r0": ["CVE-2026-0001 GHSA-aaaa-bbbb-cccc"]`: an id, then its
 * aliases).
 *
 * The version `0` lists vulnerabilities that never affected the package. The format has no times, so events have none,
 * and reports by day do not count them. The id of an advisory is that of its vulnerability.
 *
 * A file covers one repository, such as the `main` of a release, and a package may be in several.
 */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type DocumentEventSchema, DocumentSchema } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { type Fields, hasMembers, ignoredMembers } from "../records/fields.ts";
import { FeedRefusal, refuseInto } from "../source/refusal.ts";
import type { Published } from "./published.ts";
import { isRecordId, readId } from "./record-id.ts";

const publication = { author: "secdb", artifactType: "apk" };

const maxPackages = 100_000;
const maxFixes = { maxItems: 10_000, maxLength: 1024 };
const neverAffected = "0";
/** Other words beside ids are remarks: `(+ regression fix)`. */
const vulnerabilityId = /^[A-Za-z][\w.:-]*[-\d][\w.:-]*$/;

const ownMembers = ["apkurl", "archs", "distroversion", "reponame", "urlprefix"];

/** Members about the files of the repository. */
export const secdbIgnored = ignoredMembers({
  "": "apkurl archs distroversion urlprefix",
});

/** Whether a record lists packages, and these or the record have other members of a secdb. */
export function isSecdb(record: unknown): boolean {
  if (!hasMembers(record, "packages") || !Array.isArray(record.packages)) return false;
  return record.packages.some((item) => hasMembers(item, "pkg")) || ownMembers.some((name) => hasMembers(record, name));
}

/** Reads the documents of packages, and refusals of invalid packages. Errors: FeedRefusal. */
export function readSecdb(fields: Fields): (Published | FeedRefusal)[] {
  const packageNamespace = fields.optionalText("reponame") ?? "";
  const version = fields.optionalText("distroversion") ?? "";
  const [, release] = /^v?(\d[\w.]*)$/.exec(version) ?? [];
  const repository = [version, packageNamespace].filter((part) => part !== "").join("/");
  const refused: FeedRefusal[] = [];
  const packages = fields.objects("packages", maxPackages, refuseInto(refused));
  const published = packages.map((item) => {
    let id: string | undefined;
    try {
      const pkg = item.object("pkg");
      id = readId(pkg, "name");
      const advisories = readFixes(pkg).map((advisory) => ({ ...advisory, packageNamespace }));
      return { document: create(DocumentSchema, { id, advisories }), publication, release, repository };
    } catch (error) {
      if (error instanceof FeedRefusal) return error.of(id === undefined ? [] : [id]);
      throw error;
    }
  });
  return [...published, ...refused];
}

type EventInit = MessageInitShape<typeof DocumentEventSchema>;

/** Reads one advisory for each vulnerability, with an event for each version that fixed it. */
function readFixes(pkg: Fields): { id: string; aliases: string[]; events: EventInit[] }[] {
  const fixes = pkg.optionalMap("secfixes");
  const advisories = new Map<string, { aliases: Set<string>; versions: Set<string> }>();
  for (const version of fixes?.names ?? []) {
    if (!isRecordId(version)) throw pkg.refusal("secfixes", `${JSON.stringify(version)} is not a version`);
    for (const [i, text] of fixes!.texts(version, maxFixes).entries()) {
      const [id, ...aliases] = text.split(/\s+/).filter((word) => vulnerabilityId.test(word));
      if (id === undefined) throw fixes!.refusal(`${version}[${i}]`, `${JSON.stringify(text)} names no vulnerability`);
      const advisory = advisories.get(id) ?? { aliases: new Set(), versions: new Set() };
      advisories.set(id, advisory);
      for (const alias of aliases) advisory.aliases.add(alias);
      advisory.versions.add(version);
    }
  }
  return [...advisories].map(([id, { aliases, versions }]) => ({
    id,
    aliases: [...aliases],
    events: [...versions].map(eventOf),
  }));
}

function eventOf(version: string): EventInit {
  return version === neverAffected
    ? { data: { case: "falsePositiveDetermination", value: {} } }
    : { data: { case: "fixed", value: { fixedVersion: version } } };
}
