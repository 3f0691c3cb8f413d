/** Prints messages of a server on standard output. */
import { once } from "node:events";
import { type DescField, type DescMessage, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { type Command, InvalidArgumentError, Option } from "commander";
import { resource as resourceOption } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import { CommandFailure } from "../../command/index.ts";
import { printable, printableJson } from "../../log-text.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { kebab } from "../catalog/resources.ts";
import { fieldValue } from "./cells.ts";
import type { Names } from "./columns.ts";
import { CustomColumns, parseColumns } from "./custom-columns.ts";
import { parseTemplate } from "./json-path.ts";
import { secretsOf } from "./secrets.ts";
import { fieldLines, Table, type TableStyle } from "./table.ts";
import { yamlOf } from "./yaml.ts";

const formats = ["table", "wide", "json", "yaml", "name"] as const;
/** Formats with what they print: a template of kubectl, and columns. */
const jsonPath = "jsonpath=";
const customColumns = "custom-columns=";

/** How messages are printed. */
type Format = (typeof formats)[number] | `${typeof jsonPath | typeof customColumns}${string}`;

/** The messages that decide the widths of a table. */
const firstRows = 200;

/** Adds `--output` to a command. @param more formats that the command prints itself. */
export function withOutput(command: Command, byDefault: Format = "table", more: readonly string[] = []): Command {
  const choices = [...formats, ...more, jsonPath, customColumns];
  const option = new Option("-o, --output <FORMAT>", "how to print").choices(choices).default(byDefault);
  const [parsePlain] = [option.parseArg!];
  option.argParser((given: string, before: unknown) => {
    const text = given.replace(/^=/, ""); // -o=json
    try {
      if (text.startsWith(jsonPath)) parseTemplate(text.slice(jsonPath.length));
      else if (text.startsWith(customColumns)) parseColumns(text.slice(customColumns.length));
      else return parsePlain.call(option, text, before);
    } catch (error) {
      throw error instanceof CommandFailure ? new InvalidArgumentError(error.message) : error;
    }
    return text;
  });
  return command.addOption(option);
}

/** What {@link printMessages} prints. */
export interface Printing {
  /** One message alone: its fields as lines, or one JSON object. */
  readonly single?: boolean;
  /** Whether the messages may have secrets that the server answers only now. */
  readonly hasSecrets?: boolean;
  /** For tables: the names of what the messages refer to. May grow while messages come. */
  readonly names?: Names | undefined;
}

/**
 * Prints messages as they come, in the format of `--output`. A list is a table, a JSON array or a stream of YAML
 * documents. Secrets that the format has no place for are printed on standard error. If the messages end with an error,
 * those that came before it are printed.
 */
export async function printMessages(
  command: Command,
  schema: DescMessage,
  messages: AsyncIterable<Message> | Iterable<Message>,
  { single = false, hasSecrets = false, names }: Printing = {},
): Promise<void> {
  const { output } = command.opts<{ output: Format }>();
  const isTable = output === "table" || output === "wide";
  const isComplete = output === "json" || output === "yaml" || (single && isTable);
  const told = hasSecrets && !isComplete ? tellSecrets(schema, messages) : messages;
  if (output.startsWith(jsonPath)) {
    const items: JsonValue[] = [];
    for await (const message of told) items.push(jsonOf(schema, message));
    return write(parseTemplate(output.slice(jsonPath.length))(single ? items[0]! : { items }));
  }
  for await (const line of linesOf(output, schema, told, single, names)) await print(line);
}

/** Prints documents, as a stream of YAML. */
export async function printDocuments(texts: readonly string[]): Promise<void> {
  for (const [index, text] of texts.entries()) await print(index > 0 ? `---\n${text}` : text);
}

/** Prints the secrets of messages on standard error, and passes the messages on. */
async function* tellSecrets(schema: DescMessage, messages: AsyncIterable<Message> | Iterable<Message>) {
  for await (const message of messages) {
    for (const { path, value } of secretsOf(schema, message))
      console.error(printable(`${nameOf(schema, message)}: ${path}: ${value} (not shown again)`));
    yield message;
  }
}

/** Errors: CommandFailure if `--output name` is given for messages that have no uid. */
export function requireNames(command: Command, schema: DescMessage): void {
  if (command.opts<{ output: Format }>().output === "name" && uidField(schema) === undefined)
    throw new CommandFailure(`-o name: ${schema.name} has no uid`, 2);
}

async function* linesOf(
  format: Format,
  schema: DescMessage,
  messages: AsyncIterable<Message> | Iterable<Message>,
  single: boolean,
  names: Names | undefined,
): AsyncGenerator<string> {
  switch (format) {
    case "json":
      return yield* jsonLines(schema, messages, single);
    case "yaml": {
      let count = 0;
      for await (const message of messages)
        yield `${count++ > 0 ? "---\n" : ""}${(await yamlOf(jsonOf(schema, message))).trimEnd()}`;
      return;
    }
    case "name":
      for await (const message of messages) yield nameOf(schema, message);
      return;
    case "table":
    case "wide":
      return yield* tableLines(schema, messages, single, terminalStyle(format === "wide"), names);
    default: {
      const table = new CustomColumns(parseColumns(format.slice(customColumns.length)));
      yield* rowLines(
        table,
        mapped(messages, (message) => jsonOf(schema, message)),
      );
    }
  }
}

async function* jsonLines(
  schema: DescMessage,
  messages: AsyncIterable<Message> | Iterable<Message>,
  single: boolean,
): AsyncGenerator<string> {
  let previous: string | undefined;
  try {
    for await (const message of messages) {
      const text = printableJson(jsonOf(schema, message), 2);
      if (single) yield text;
      else {
        yield previous === undefined ? "[" : `${previous},`;
        previous = text.replace(/^/gm, "  ");
      }
    }
    if (previous === undefined && !single) yield "[]";
  } finally {
    if (previous !== undefined) yield `${previous}\n]`;
  }
}

async function* tableLines(
  schema: DescMessage,
  messages: AsyncIterable<Message> | Iterable<Message>,
  single: boolean,
  style: TableStyle,
  names: Names | undefined,
): AsyncGenerator<string> {
  if (!single) return yield* rowLines(new Table(schema, style, names), messages);
  for await (const message of messages) yield* fieldLines(schema, message, style);
}

/** The heading and the rows of a table. The first rows decide the widths. */
async function* rowLines<T>(
  table: { begin(rows: readonly T[]): string; line(row: T): string },
  rows: AsyncIterable<T> | Iterable<T>,
): AsyncGenerator<string> {
  let first: T[] | undefined = [];
  function* begin(): Generator<string> {
    if (first === undefined) return;
    yield table.begin(first);
    for (const row of first) yield table.line(row);
    first = undefined;
  }
  try {
    for await (const row of rows) {
      if (first === undefined) yield table.line(row);
      else if (first.push(row) >= firstRows) yield* begin();
    }
    yield* begin();
  } finally {
    if (first !== undefined && first.length > 0) yield* begin();
  }
}

async function* mapped<T, U>(items: AsyncIterable<T> | Iterable<T>, change: (item: T) => U): AsyncGenerator<U> {
  for await (const item of items) yield change(item);
}

/** The JSON form of a message, as the server writes it. */
export function jsonOf(schema: DescMessage, message: Message): JsonValue {
  return toJson(schema, message, { registry: contractRegistry(), alwaysEmitImplicit: true });
}

/** `role/0a…9f`. What a search has found says itself of which type it is. */
function nameOf(schema: DescMessage, message: Message): string {
  const { type } = message as Message & { readonly type?: unknown };
  const { singular } = getOption(schema, resourceOption);
  const kind = singular || (typeof type === "string" ? type.replace(/^.*\//, "") : schema.name);
  const field = uidField(schema);
  return `${kebab(kind)}/${field === undefined ? "" : printable(String(fieldValue(field, message)))}`;
}

/** The field that identifies a message: `uid`, in older versions `id`. */
function uidField({ field }: DescMessage): DescField | undefined {
  return field.uid ?? field.id;
}

/** How a table is printed on standard output. */
export function terminalStyle(wide: boolean): TableStyle {
  const { isTTY, columns } = process.stdout;
  const width = isTTY ? Number(process.env.COLUMNS) || columns : undefined;
  return { width, wide, colours: isTTY && !process.env.NO_COLOR };
}

/** Prints lines. */
export async function printLines(lines: Iterable<string>): Promise<void> {
  for (const line of lines) await print(line);
}

async function print(line: string): Promise<void> {
  await write(`${line}\n`);
}

/** Writes a text on standard output, with back-pressure. */
export async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}
