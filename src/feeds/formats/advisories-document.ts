/**
 * Advisory documents, schema 2.x: `schema-version`, `package.name`, and `advisories[]` of `id`, `aliases[]` and
 * `events[]`. An event has a `timestamp`, a `type`, and the `data` of that type. The data of a detection has its own
 * type and nested data, `data: {type: scan/v1, data: {…}}`; some publishers write the nested members beside the type.
 *
 * An invalid event is refused alone: its document is read without it.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type DetectionSchema,
  type Document,
  type DocumentEventSchema,
  DocumentSchema,
  FalsePositiveDetermination_Type,
  FalsePositiveDetermination_TypeSchema,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { type Fields, hasMembers } from "../records/fields.ts";
import { FeedRefusal, refuseInto } from "../source/refusal.ts";
import type { Published } from "./published.ts";
import { readAliases, readId } from "./record-id.ts";

const publication = { author: "advisories", artifactType: "apk" };

const maxAdvisories = 50_000;
/** The limit of the API. */
const maxEvents = 1000;
const maxNoteLength = 16_384;
const maxCpeLength = 1024;
/** A component may be in hundreds of files. */
const maxLocationLength = 65_536;

/** The names of the API in kebab case. */
const falsePositiveTypes: ReadonlyMap<string, FalsePositiveDetermination_Type> = new Map(
  FalsePositiveDetermination_TypeSchema.values
    .filter(({ number }) => number !== FalsePositiveDetermination_Type.UNSPECIFIED)
    .map(({ localName, number }) => [
      localName.toLowerCase().replaceAll("_", "-"),
      number as FalsePositiveDetermination_Type,
    ]),
);

/** None: the reader knows all of the schema. */
export const documentIgnored: ReadonlySet<string> = new Set();

/** Whether a record has the schema version and other members of an advisory document. */
export function isAdvisoryDocument(record: unknown): boolean {
  return hasMembers(record, "schema-version", "package") || hasMembers(record, "schema-version", "advisories");
}

/** Reads the document of one package, and refusals of invalid events. Errors: FeedRefusal. */
export function readAdvisoryDocument(fields: Fields): (Published | FeedRefusal)[] {
  const id = readId(fields.object("package"), "name");
  const refused: FeedRefusal[] = [];
  try {
    return [
      { document: readDocument(id, fields, refused), publication },
      ...refused.map((refusal) => refusal.of([id])),
    ];
  } catch (error) {
    throw error instanceof FeedRefusal ? error.of([id]) : error;
  }
}

function readDocument(name: string, fields: Fields, refused: FeedRefusal[]): Document {
  const version = fields.text("schema-version");
  if (!/^2(?:\.\d+)*$/.test(version)) throw fields.refusal("schema-version", `${JSON.stringify(version)} is not 2.x`);
  const seen = new Set<string>();
  return create(DocumentSchema, {
    id: name,
    advisories: fields.objects("advisories", maxAdvisories).map((advisory) => {
      const id = readId(advisory, "id");
      if (seen.has(id)) throw advisory.refusal("id", `${JSON.stringify(id)} occurs twice`);
      seen.add(id);
      const events = advisory.objects("events", maxEvents, refuseInto(refused));
      return {
        id,
        aliases: readAliases(advisory, "aliases"),
        events: events.flatMap((event) => validEvent(event, refused)),
      };
    }),
  });
}

/** The event in a list; an empty list if it is refused. */
function validEvent(fields: Fields, refused: FeedRefusal[]): EventInit[] {
  try {
    return [readEvent(fields)];
  } catch (error) {
    if (!(error instanceof FeedRefusal)) throw error;
    refused.push(error);
    return [];
  }
}

type EventInit = MessageInitShape<typeof DocumentEventSchema>;
type EventData = NonNullable<EventInit["data"]>;

function readEvent(fields: Fields): EventInit {
  const timeMs = fields.timeMs("timestamp");
  const read = eventTypes.get(fields.text("type"));
  if (read === undefined)
    throw fields.refusal(
      "type",
      `${JSON.stringify(fields.text("type"))} is none of ${[...eventTypes.keys()].join(", ")}`,
    );
  return { timestamp: timestampFromMs(timeMs), data: read(fields) };
}

const eventTypes: ReadonlyMap<string, (event: Fields) => EventData> = new Map<string, (event: Fields) => EventData>([
  ["detection", (event) => ({ case: "detection", value: { type: readDetection(event.object("data")) } })],
  ["fixed", (event) => ({ case: "fixed", value: { fixedVersion: readId(event.object("data"), "fixed-version") } })],
  [
    "false-positive-determination",
    (event) => {
      const data = event.object("data");
      const type = falsePositiveTypes.get(data.text("type"));
      if (type === undefined) throw data.refusal("type", `${JSON.stringify(data.text("type"))} is not known`);
      return { case: "falsePositiveDetermination", value: { type, note: readNote(event) } };
    },
  ],
  ["true-positive-determination", (event) => ({ case: "truePositiveDetermination", value: { note: readNote(event) } })],
  ["analysis-not-planned", (event) => ({ case: "analysisNotPlanned", value: { note: readNote(event) } })],
  ["fix-not-planned", (event) => ({ case: "fixNotPlanned", value: { note: readNote(event) } })],
  ["pending-upstream-fix", (event) => ({ case: "pendingUpstreamFix", value: { note: readNote(event) } })],
]);

function readNote(event: Fields): string {
  return event.optionalObject("data")?.optionalText("note", maxNoteLength) ?? "";
}

function readDetection(data: Fields): NonNullable<MessageInitShape<typeof DetectionSchema>["type"]> {
  const type = data.text("type");
  const inner = data.optionalObject("data");
  const textOf = (name: string, maxLength?: number) =>
    (inner?.has(name) ? inner : data).optionalText(name, maxLength) ?? "";
  switch (type) {
    case "manual":
      return { case: "manual", value: {} };
    case "nvdapi":
      return {
        case: "nvdapi",
        value: { cpeSearched: textOf("cpeSearched", maxCpeLength), cpeFound: textOf("cpeFound", maxCpeLength) },
      };
    case "scan/v1":
      return {
        case: "scanv1",
        value: {
          scanner: textOf("scanner"),
          subpackageName: textOf("subpackageName"),
          componentId: textOf("componentID"),
          componentName: textOf("componentName"),
          componentVersion: textOf("componentVersion"),
          componentType: textOf("componentType"),
          componentLocation: textOf("componentLocation", maxLocationLength),
        },
      };
    default:
      throw data.refusal("type", `${JSON.stringify(type)} is none of manual, nvdapi, scan/v1`);
  }
}
