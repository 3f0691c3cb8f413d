/**
 * OpenVEX documents (https://github.com/openvex/spec, 0.2.0): statements about the impact of a vulnerability on
 * products, which are package URLs, and on their subcomponents. Packages of one name form one document, with an
 * advisory for each vulnerability of each product and subcomponent: a statement is about the version and the qualifiers
 * that it names, and about no others. Statements become events:
 *
 * - `not_affected`: a false positive determination, its type from the justification, its note from the impact
 *   statement.
 * - `affected`: a true positive determination, its note from the action statement.
 * - `fixed`: a fix in the version of the package URL, which is required.
 * - `under_investigation`: a manual detection.
 *
 * Of several statements about the same at one time, the last one is kept. An invalid statement is refused alone.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type DocumentEventSchema,
  DocumentSchema,
  FalsePositiveDetermination_Type,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { type PackageUrl, packageName, packageUrlText, packageVersion, parsePackageUrl } from "../../package-url.ts";
import { type Fields, hasMembers, ignoredMembers } from "../records/fields.ts";
import { FeedRefusal, refuseInto } from "../source/refusal.ts";
import type { Published } from "./published.ts";
import { isRecordId, readAliases, readId } from "./record-id.ts";

const maxStatements = 100_000;
const maxProducts = 10_000;
const maxSubcomponents = 10_000;
const maxNoteLength = 16_384;
const maxPurlLength = 2048;
/** The limit of the API for names of components. */
const maxNameLength = 255;
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
export const openVexIgnored = ignoredMembers({
  "": "@context @id last_updated role timestamp tooling version",
  "statements[]": `
    @id action_statement action_statement_timestamp impact_statement impact_statement_timestamp justification
    last_updated status_notes supplier version vulnerability.@id vulnerability.description`,
  "statements[].products[]": "@id hashes identifiers.cpe22 identifiers.cpe23 supplier",
  "statements[].products[].subcomponents[]": "@id hashes identifiers.cpe22 identifiers.cpe23 supplier",
});

type EventInit = MessageInitShape<typeof DocumentEventSchema>;
type EventData = NonNullable<EventInit["data"]>;

/** What is known about one vulnerability in one product or subcomponent. */
interface Advisory {
  readonly id: string;
  readonly packageUrl: string;
  readonly packageNamespace: string;
  readonly subcomponent?: string;
  readonly aliases: Set<string>;
  /** By their times, in milliseconds since 1970. */
  readonly events: Map<number, EventData>;
}

/** By vulnerability, product and subcomponent. */
type Advisories = Map<string, Advisory>;

const contexts = /^https:\/\/openvex\.dev\/ns\b/;

/** Whether a record is an OpenVEX document of any version. */
export function isOpenVex(record: unknown): boolean {
  if (!hasMembers(record, "@context")) return false;
  const { "@context": context } = record;
  return typeof context === "string" && contexts.test(context);
}

/**
 * Whether a record is a file that a VEX repository has beside its documents (VEX Repository Specification 0.1): its
 * `vex-repository.json`, its `index.json`, or the `manifest.json` of a package in VEX Hub.
 */
export function isVexIndex(record: unknown): boolean {
  if (hasMembers(record, "ID", "Sources")) return true;
  if (hasMembers(record, "versions")) return someHave(record.versions, "spec_version", "locations");
  return hasMembers(record, "packages") && someHave(record.packages, "id", "location");
}

function someHave(list: unknown, ...names: readonly string[]): boolean {
  return Array.isArray(list) && list.some((item) => hasMembers(item, ...names));
}

/**
 * Reads the documents of packages, and refusals of invalid statements. Errors: FeedRefusal, with the names of all
 * products if they can be read.
 */
export function readOpenVex(fields: Fields): (Published | FeedRefusal)[] {
  const packages = new Map<string, Advisories>();
  const refused: FeedRefusal[] = [];
  const statements = fields.objects("statements", maxStatements, refuseInto(refused));
  if (!fields.isText("author")) throw fields.refusal("author", "is missing").of(productNames(() => statements));
  const author = fields.text("author");
  for (const statement of statements) {
    try {
      readStatement(statement, fields, packages);
    } catch (error) {
      if (!(error instanceof FeedRefusal)) throw error;
      refused.push(error.of(productNames(() => [statement])));
    }
  }
  const published = [...packages].map(([id, advisories]) => ({
    document: create(DocumentSchema, {
      id,
      advisories: [...advisories.values()].map(({ aliases, events, ...advisory }) => ({
        ...advisory,
        aliases: [...aliases],
        events: [...events].map(([timeMs, data]) => ({ timestamp: timestampFromMs(timeMs), data })),
      })),
    }),
    publication: { author },
  }));
  return [...published, ...refused];
}

/** What a statement says about one product or subcomponent. */
interface Assertion {
  readonly purl: PackageUrl;
  readonly subcomponent: string | undefined;
  readonly data: EventData;
}

/** Adds what a statement says about each product and subcomponent. Errors: FeedRefusal; then nothing is added. */
function readStatement(statement: Fields, document: Fields, packages: Map<string, Advisories>): void {
  const vulnerability = statement.object("vulnerability");
  const id = readId(vulnerability, "name");
  const aliases = readAliases(vulnerability, "aliases");
  const timeMs = statement.optionalTimeMs("timestamp") ?? document.timeMs("timestamp");
  const read = readStatus(statement);
  const assertions = statement.objects("products", maxProducts).flatMap((product): Assertion[] => {
    const purl = readPurl(product);
    const data = read(purl, product);
    return readSubcomponents(product).map((subcomponent) => ({ purl, subcomponent, data }));
  });
  for (const { purl, subcomponent } of assertions) {
    const events = packages.get(packageName(purl))?.get(keyOf(id, purl, subcomponent))?.events;
    if (events?.size === maxEvents && !events.has(timeMs))
      throw statement.refusal("products", `make more than ${maxEvents} statements about ${id} in ${packageName(purl)}`);
  }
  for (const { purl, subcomponent, data } of assertions) {
    const name = packageName(purl);
    const advisories: Advisories = packages.get(name) ?? new Map();
    const key = keyOf(id, purl, subcomponent);
    const advisory = advisories.get(key) ?? newAdvisory(id, purl, subcomponent);
    for (const alias of aliases) advisory.aliases.add(alias);
    advisory.events.set(timeMs, data);
    packages.set(name, advisories.set(key, advisory));
  }
}

function keyOf(id: string, purl: PackageUrl, subcomponent: string | undefined): string {
  return JSON.stringify([id, packageUrlText(purl), subcomponent]);
}

function newAdvisory(id: string, purl: PackageUrl, subcomponent: string | undefined): Advisory {
  return {
    id,
    packageUrl: packageUrlText(purl),
    packageNamespace: purl.namespace,
    ...(subcomponent !== undefined && { subcomponent }),
    aliases: new Set(),
    events: new Map(),
  };
}

/** The names of the products of statements; undefined if they are unknown. */
function productNames(readStatements: () => readonly Fields[]): string[] | undefined {
  const products = attempt(() => readStatements().flatMap((statement) => statement.objects("products", maxProducts)));
  return products?.flatMap((product) => attempt(() => packageName(readPurl(product))) ?? []);
}

/** The value that a function returns; undefined if it is refused. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof FeedRefusal) return undefined;
    throw error;
  }
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
        if (purl.version === "") throw product.refusal("@id", "has no version, so the fixed version is unknown");
        return { case: "fixed", value: { fixedVersion: packageVersion(purl) } };
      };
    case "under_investigation":
      return () => ({ case: "detection", value: { type: { case: "manual", value: {} } } });
    default:
      throw statement.refusal("status", `${JSON.stringify(status)} is not a status`);
  }
}

/**
 * The package URL of a product, from `identifiers.purl` or `@id`. All parts that fields are made of must be valid ids.
 */
function readPurl(product: Fields): PackageUrl {
  const purl = parsePurl(readIdentifier(product));
  const parts = purl && [packageVersion(purl), purl.qualifiers.get("arch") ?? ""];
  if (purl === undefined || !parts!.every((part) => part === "" || isRecordId(part)))
    throw product.refusal("@id", "is not a package URL");
  return purl;
}

/** The subcomponents of a product, which are mostly package URLs; undefined is the product itself. */
function readSubcomponents(product: Fields): (string | undefined)[] {
  const subcomponents = product.objects("subcomponents", maxSubcomponents).map((subcomponent) => {
    const identifier = readIdentifier(subcomponent);
    const purl = parsePurl(identifier);
    if (purl === undefined && identifier.length > maxNameLength)
      throw subcomponent.refusal("@id", `is not a package URL, and longer than ${maxNameLength} characters`);
    return purl === undefined ? identifier : packageUrlText(purl);
  });
  return subcomponents.length === 0 ? [undefined] : [...new Set(subcomponents)];
}

function readIdentifier(component: Fields): string {
  const purl = component.optionalObject("identifiers")?.optionalText("purl", maxPurlLength);
  return purl ?? component.text("@id", maxPurlLength);
}

/** The package URL in a text; undefined if there is none, or its name is not a valid id. */
function parsePurl(text: string): PackageUrl | undefined {
  const purl = isWellEncoded(text) ? parsePackageUrl(text) : undefined;
  return purl !== undefined && isRecordId(packageName(purl)) && isRecordId(purl.type) ? purl : undefined;
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
