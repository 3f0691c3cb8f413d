/**
 * The `security.json` of a package repository (secdb): `packages[].pkg` of `name` and `secfixes`, which says for each version what it fixed
 * (`"1.2.3-r0": ["CVE-2026-0001 GHSA-aaaa-bbbb-cccc"]`: an id, then others of the same vulnerability).
 *
 * Under the version `0` stands what never affected the package. There are no times in it, so its events have none, and reports by day do not
 * count them. An advisory has the id of its vulnerability.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type DocumentEventSchema, DocumentSchema } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { FeedRefusal, type Fields } from "../fields.ts";
import type { Published } from "./advisories.ts";
import { isIdentifier, readIdentifier } from "./identifiers.ts";

/** Who writes what stands in a secdb. */
const publication = { author: "secdb", artifactType: "apk" };

const maxPackages = 100_000;
const maxFixes = { maxItems: 10_000, maxLength: 1024 };
const neverAffected = "0";
/** What stands beside ids are remarks: `(+ regression fix)`. */
const vulnerabilityId = /^[A-Za-z][\w.:-]*[-\d][\w.:-]*$/;

/** Where the repository's files lie. */
export const secdbUnread: ReadonlySet<string> = new Set(["apkurl", "archs", "distroversion", "urlprefix"]);

/** The documents of the packages of a repository; for a package that cannot be taken, why. Errors: FeedRefusal. */
export function readSecdb(fields: Fields): (Published | FeedRefusal)[] {
  const packageNamespace = fields.optionalText("reponame") ?? "";
  const [, release] = /^v?(\d[\w.]*)$/.exec(fields.optionalText("distroversion") ?? "") ?? [];
  const seen = new Set<string>();
  return fields.objects("packages", maxPackages).map((item) => {
    try {
      const pkg = item.object("pkg");
      const id = readIdentifier(pkg, "name");
      if (seen.has(id)) throw pkg.refusal("name", `${JSON.stringify(id)} is there twice`);
      seen.add(id);
      const advisories = readFixes(pkg).map((advisory) => ({ ...advisory, packageNamespace }));
      return { document: create(DocumentSchema, { id, advisories }), publication, release };
    } catch (error) {
      if (error instanceof FeedRefusal) return error;
      throw error;
    }
  });
}

type EventInit = MessageInitShape<typeof DocumentEventSchema>;

/** One advisory for each vulnerability, with an event for each version that fixed it. */
function readFixes(pkg: Fields): { id: string; aliases: string[]; events: EventInit[] }[] {
  const fixes = pkg.optionalMap("secfixes");
  const advisories = new Map<string, { aliases: Set<string>; versions: Set<string> }>();
  for (const version of fixes?.names ?? []) {
    if (!isIdentifier(version)) throw pkg.refusal("secfixes", `${JSON.stringify(version)} is not a version`);
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
