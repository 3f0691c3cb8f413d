/**
 * OpenVEX documents (https://github.com/openvex/spec, 0.2.0): statements about the impact of a vulnerability on
 * products, which are package URLs. Packages of one name form one document, with an advisory for each vulnerability of
 * each package. Statements become events:
 *
 * - `not_affected`: a false positive determination, its type from the justification, its note from the impact
 *   statement.
 * - `affected`: a true positive determination, its note from the action statement.
 * - `fixed`: a fix in the version of the package URL, which is required.
 * - `under_investigation`: a manual detection.
 *
 * Subcomponents of products are not read. An invalid statement is refused alone.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type DocumentEventSchema,
  DocumentSchema,
  FalsePositiveDetermination_Type,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import {
  formatPackageUrl,
  type PackageUrl,
  packageKind,
  packageName,
  packageVersion,
  parsePackageUrl,
} from "../../package-url.ts";
import type { Fields } from "../records/fields.ts";
import { FeedRefusal } from "../source/refusal.ts";
import type { Published } from "./published.ts";
import { isRecordId, readAliases, readId } from "./record-id.ts";

const maxStatements = 100_000;
const maxProducts = 10_000;
const maxNoteLength = 16_384;
const maxPurlLength = 2048;
/** The limit of the API. */
const maxEvents = 1000;

/** Types of false positives by OpenVEX justification. */
const justifications: ReadonlyMap<string, FalsePositiveDetermination_Type> = new Map([
  ["component_not_present", FalsePositiveDetermination_Type.COMPONENT_VULNERABILITY_MISMATCH],
  ["vulnerable_code_not_present", FalsePositiveDetermination_Type.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE],
  ["vulnerable_code_not_in_execute_path", FalsePositiveDetermination_Type.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH],
  [
    "vulnerable_code_cannot_be_controlled_by_adversary",
    FalsePositiveDetermination_Type.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY,
  ],
  ["inline_mitigations_already_exist", FalsePositiveDetermination_Type.INLINE_MITIGATIONS_EXIST],
]);

/** All other members of OpenVEX 0.2.0. */
export const openVexIgnored: ReadonlySet<string> = new Set([
  "@id",
  "last_updated",
  "role",
  "timestamp",
  "tooling",
  "version",
  ...[
    "@id",
    "action_statement",
    "action_statement_timestamp",
    "impact_statement",
    "impact_statement_timestamp",
    "justification",
    "last_updated",
    "products[].@id",
    "products[].hashes",
    "products[].identifiers.cpe22",
    "products[].identifiers.cpe23",
    "products[].subcomponents",
    "products[].supplier",
    "status_notes",
    "supplier",
    "version",
    "vulnerability.@id",
    "vulnerability.description",
  ].map((member) => `statements[].${member}`),
]);

type EventInit = MessageInitShape<typeof DocumentEventSchema>;
type EventData = NonNullable<EventInit["data"]>;

interface Event {
  readonly timeMs: number;
  readonly data: EventData;
}

interface Advisory {
  readonly id: string;
  readonly packageUrl: string;
  readonly packageNamespace: string;
  readonly aliases: Set<string>;
  readonly events: Map<string, Event>;
}

/** Packages of one name. */
interface Package {
  /** The first package, whose type the document has. */
  readonly purl: PackageUrl;
  /**
   * By vulnerability and package. Equal events are merged: a statement often names a package once for each
   * architecture.
   */
  readonly advisories: Map<string, Advisory>;
}

/** Reads the documents of packages, and refusals of invalid statements. Errors: FeedRefusal. */
export function readOpenVex(fields: Fields): (Published | FeedRefusal)[] {
  if (!/^https:\/\/openvex\.dev\/ns\b/.test(fields.text("@context")))
    throw fields.refusal("@context", "is not that of OpenVEX");
  const author = fields.text("author");
  const packages = new Map<string, Package>();
  const refused: FeedRefusal[] = [];
  for (const statement of fields.objects("statements", maxStatements)) {
    try {
      for (const assertion of readStatement(statement, fields)) addEvent(packages, assertion, statement);
    } catch (error) {
      if (!(error instanceof FeedRefusal)) throw error;
      refused.push(error);
    }
  }
  const published = [...packages].map(([id, { purl, advisories }]) => ({
    document: create(DocumentSchema, {
      id,
      advisories: [...advisories.values()].map(({ aliases, events, ...advisory }) => ({
        ...advisory,
        aliases: [...aliases],
        events: [...events.values()].map(({ timeMs, data }) => ({ timestamp: timestampFromMs(timeMs), data })),
      })),
    }),
    publication: { author, artifactType: purl.type },
  }));
  return [...published, ...refused];
}

/** A statement about one of its products. */
interface Assertion {
  readonly purl: PackageUrl;
  readonly id: string;
  readonly aliases: readonly string[];
  readonly event: Event;
}

function readStatement(statement: Fields, document: Fields): Assertion[] {
  const vulnerability = statement.object("vulnerability");
  const id = readId(vulnerability, "name");
  const aliases = readAliases(vulnerability, "aliases");
  const timeMs = statement.optionalTimeMs("timestamp") ?? document.timeMs("timestamp");
  const read = readStatus(statement);
  return statement.objects("products", maxProducts).map((product) => {
    const purl = readPurl(product);
    return { purl, id, aliases, event: { timeMs, data: read(purl, product) } };
  });
}

function addEvent(packages: Map<string, Package>, { purl, id, aliases, event }: Assertion, statement: Fields): void {
  const name = packageName(purl);
  const packageUrl = formatPackageUrl(packageKind(purl), name);
  const advisoryKey = JSON.stringify([id, packageUrl]);
  const pkg = packages.get(name) ?? { purl, advisories: new Map() };
  const advisory = pkg.advisories.get(advisoryKey) ?? newAdvisory(id, packageUrl, purl.namespace);
  const key = JSON.stringify([event.timeMs, event.data]);
  if (advisory.events.size === maxEvents && !advisory.events.has(key))
    throw statement.refusal("products", `make more than ${maxEvents} statements about ${id} in ${name}`);
  packages.set(name, pkg);
  pkg.advisories.set(advisoryKey, advisory);
  for (const alias of aliases) advisory.aliases.add(alias);
  advisory.events.set(key, event);
}

function newAdvisory(id: string, packageUrl: string, packageNamespace: string): Advisory {
  return { id, packageUrl, packageNamespace, aliases: new Set(), events: new Map() };
}

/** Returns the function that makes the event of a product, by the status of the statement. */
function readStatus(statement: Fields): (purl: PackageUrl, product: Fields) => EventData {
  const status = statement.text("status");
  switch (status) {
    case "not_affected": {
      const justification = statement.optionalText("justification") ?? "";
      const type = justifications.get(justification) ?? FalsePositiveDetermination_Type.UNSPECIFIED;
      if (justification !== "" && type === FalsePositiveDetermination_Type.UNSPECIFIED)
        throw statement.refusal("justification", `${JSON.stringify(justification)} is not known`);
      const note = statement.optionalText("impact_statement", maxNoteLength) ?? "";
      return () => ({ case: "falsePositiveDetermination", value: { type, note } });
    }
    case "affected": {
      const note = statement.optionalText("action_statement", maxNoteLength) ?? "";
      return () => ({ case: "truePositiveDetermination", value: { note } });
    }
    case "fixed":
      return (purl, product) => {
        const fixedVersion = packageVersion(purl);
        if (fixedVersion === "") throw product.refusal("@id", "has no version, so the fixed version is unknown");
        return { case: "fixed", value: { fixedVersion } };
      };
    case "under_investigation":
      return () => ({ case: "detection", value: { type: { case: "manual", value: {} } } });
    default:
      throw statement.refusal("status", `${JSON.stringify(status)} is not a status`);
  }
}

/** The package URL of a product, from `identifiers.purl` or `@id`. Its name and version must be valid ids. */
function readPurl(product: Fields): PackageUrl {
  const given = product.optionalObject("identifiers")?.optionalText("purl", maxPurlLength);
  const text = given ?? product.text("@id", maxPurlLength);
  const purl = isWellEncoded(text) ? parsePackageUrl(text) : undefined;
  if (purl === undefined || !isRecordId(packageName(purl)) || !(purl.version === "" || isRecordId(purl.version)))
    throw product.refusal("@id", "is not a package URL");
  return purl;
}

/** Whether all percent signs are valid escapes. The parser of package URLs accepts others as they are. */
function isWellEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
