/** Prints messages of a server on standard output. */
import { once } from "node:events";
import { type DescMessage, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { printableLines } from "../../log-text.ts";
import { contractCatalog } from "../catalog/contract.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { kebab } from "../catalog/resources.ts";
import { fieldLines, Table, type TableStyle } from "./table.ts";
import { oneLine } from "./text.ts";

const formats = ["table", "wide", "json", "yaml", "name"] as const;

/** How messages are printed. */
type Format = (typeof formats)[number];

/** The messages that decide the widths of a table. */
const firstRows = 200;

/** Adds `--output` to a command. */
export function withOutput(command: Command, byDefault: Format = "table"): Command {
  return command.addOption(new Option("-o, --output <FORMAT>", "how to print").choices(formats).default(byDefault));
}

/**
 * Prints messages as they come, in the format of `--output`. A list is a table, a JSON array or a stream of YAML documents.
 * @param single one message alone: its fields as lines, or one JSON object.
 */
export async function printMessages(
  command: Command,
  schema: DescMessage,
  messages: AsyncIterable<Message> | Iterable<Message>,
  { single = false }: { readonly single?: boolean } = {},
): Promise<void> {
  const { output } = command.opts<{ output: Format }>();
  for await (const line of linesOf(output, schema, messages, single)) await print(line);
}

async function* linesOf(
  format: Format,
  schema: DescMessage,
  messages: AsyncIterable<Message> | Iterable<Message>,
  single: boolean,
): AsyncGenerator<string> {
  switch (format) {
    case "json":
      return yield* jsonLines(schema, messages, single);
    case "yaml": {
      const { dump } = await import("js-yaml");
      let count = 0;
      for await (const message of messages)
        yield `${count++ > 0 ? "---\n" : ""}${dump(jsonOf(schema, message), { lineWidth: 120 }).trimEnd()}`;
      return;
    }
    case "name":
      for await (const message of messages) yield nameOf(schema, message);
      return;
    default:
      return yield* tableLines(schema, messages, single, styleOf(format === "wide"));
  }
}

async function* jsonLines(
  schema: DescMessage,
  messages: AsyncIterable<Message> | Iterable<Message>,
  single: boolean,
): AsyncGenerator<string> {
  let previous: string | undefined;
  for await (const message of messages) {
    const text = printableLines(JSON.stringify(jsonOf(schema, message), undefined, 2)); // escapes mean the same
    if (single) yield text;
    else {
      yield previous === undefined ? "[" : `${previous},`;
      previous = text.replace(/^/gm, "  ");
    }
  }
  if (single) return;
  if (previous === undefined) yield "[]";
  else yield `${previous}\n]`;
}

async function* tableLines(
  schema: DescMessage,
  messages: AsyncIterable<Message> | Iterable<Message>,
  single: boolean,
  style: TableStyle,
): AsyncGenerator<string> {
  const table = new Table(schema, style);
  let first: Message[] | undefined = [];
  function* begin(): Generator<string> {
    if (first === undefined) return;
    yield table.begin(first);
    for (const message of first) yield table.line(message);
    first = undefined;
  }
  for await (const message of messages) {
    if (single) yield* fieldLines(schema, message, style);
    else if (first === undefined) yield table.line(message);
    else if (first.push(message) >= firstRows) yield* begin();
  }
  if (!single) yield* begin();
}

/** The JSON form of a message, as the server writes it. */
export function jsonOf(schema: DescMessage, message: Message): JsonValue {
  return toJson(schema, message, { registry: contractRegistry(), alwaysEmitImplicit: true });
}

/** `role/0a…9f`. */
function nameOf(schema: DescMessage, message: Message): string {
  const resource = contractCatalog().resources.find((it) => it.schema.typeName === schema.typeName);
  const { uid } = message as Message & { uid?: string };
  return `${resource?.singular ?? kebab(schema.name)}/${oneLine(uid ?? "")}`;
}

function styleOf(wide: boolean): TableStyle {
  const { isTTY, columns } = process.stdout;
  const width = isTTY ? Number(process.env.COLUMNS) || columns : undefined;
  return { width, wide, colours: isTTY && !process.env.NO_COLOR };
}

/** Writes a line, with back-pressure. */
async function print(line: string): Promise<void> {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, "drain");
}
