/**
 * Core metadata of Python distributions (packaging.python.org, "Core metadata specifications"): the file `METADATA` of
 * a wheel, or `PKG-INFO`. It consists of `Name: value` lines as in an email (RFC 5322). A line that begins with white
 * space continues the one before. The long description after the first empty line is not read.
 */

import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import type { Unread } from "../records/fields.ts";
import { FeedRefusal } from "../source/refusal.ts";
import { type ArtifactRecord, checkName, checkVersion, cutDescription } from "./artifact-record.ts";

/** All fields of core metadata up to version 2.5, in lower case. */
const known: ReadonlySet<string> = new Set(
  `author author-email classifier description description-content-type download-url dynamic home-page import-name
    import-namespace keywords license license-expression license-file maintainer maintainer-email metadata-version
    name obsoletes obsoletes-dist platform project-url provides provides-dist provides-extra requires requires-dist
    requires-external requires-python summary supported-platform version`.split(/\s+/),
);

/** Reads the artifact of core metadata, with its one version. Errors: FeedRefusal. */
export function readCoreMetadata(text: string, unread: Unread): ArtifactRecord {
  const fields = headOf(text);
  for (const name of fields.keys()) if (!known.has(name)) unread(name);
  const summary = fields.get("summary");
  return {
    ecosystem: Ecosystem.PYTHON,
    name: checkName(required(fields, "name")),
    ...(summary !== undefined && { description: cutDescription(summary) }),
    isWhole: false,
    versions: [{ version: checkVersion(required(fields, "version")) }],
  };
}

/** The first value of each field, by name in lower case. */
function headOf(text: string): ReadonlyMap<string, string> {
  const [head = ""] = text.split(/\r?\n\r?\n/, 1);
  const fields = new Map<string, string>();
  for (const line of head
    .trimEnd()
    .replace(/\r?\n[ \t]+/g, " ")
    .split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new FeedRefusal("is not core metadata: a line has no field name");
    const name = line.slice(0, colon).toLowerCase();
    if (!fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

function required(fields: ReadonlyMap<string, string>, name: string): string {
  const value = fields.get(name);
  if (!value) throw new FeedRefusal(`${name}: is missing`);
  return value;
}
