/** `platform list`: the resources of a kind, page by page. */
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { Command, InvalidArgumentError, Option } from "commander";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import { CommandFailure, ProgressLine, wholeNumber } from "../../command/index.ts";
import { findListed, findResource, namesImage } from "../catalog/contract.ts";
import { addFieldFlags, collect, fieldsOf, fieldsOfPairs, requireFields } from "../catalog/flags.ts";
import { type ListedKind, parentType } from "../catalog/resources.ts";
import { uidOf } from "../documents/lookup.ts";
import { methodOf } from "../documents/requests.ts";
import { documentsFormat, printAsDocuments, requireDocuments } from "../documents/write.ts";
import { type JsonPath, order, parsePath } from "../print/json-path.ts";
import { jsonOf, printMessages, requireNames, withOutput } from "../print/print.ts";
import { callMethod } from "../session/call.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { addNames } from "./names.ts";
import { requireListed } from "./resource-command.ts";

/** Of lists (AIP-158); options of the command have their place. */
const pageFields = ["page_size", "page_token", "order_by", "skip", "uidp"];
const maxPageSize = 200;

interface Options {
  readonly filter?: readonly string[];
  readonly parent?: string;
  readonly below?: string;
  readonly orderBy?: string;
  readonly sortBy?: JsonPath;
  readonly limit: number;
  readonly skip?: number;
  readonly all?: boolean;
}

/** @param args of the command, for the resource that decides its options. */
export function makeCommand(args: readonly string[]): Command {
  const kind = args.map((arg) => findListed(arg)).find((it) => it !== undefined);
  const input = kind?.methods.List?.input;
  const command = withOutput(withSession(new Command("list")), "table", [documentsFormat])
    .argument("<RESOURCES>", "`platform resources` lists them")
    .option("--filter <NAME=VALUE>", filterHelp(input), collect)
    .option("--parent <UID|NAME>", "only those directly in this group or other parent")
    .option("--below <UID|NAME>", "only those below this group")
    .option("--order-by <FIELDS>", 'fields, each with an optional `desc`: "name desc, uid"')
    .option(
      "--sort-by <JSONPATH>",
      "read all, and print them in the order of a field of their JSON: .updateTime",
      jsonPathOf,
    )
    .option("--limit <NUMBER>", "print at most so many", wholeNumber(1), 50)
    .option("--skip <NUMBER>", "leave out so many at the beginning", wholeNumber(0))
    .addOption(new Option("--all", "print all, page by page").conflicts("limit"));
  const flags = input === undefined ? [] : addFieldFlags(command, input, pageFields);
  for (const flag of flags) flag.helpGroup("Filters, also as --filter NAME=VALUE:");
  return command.action((name: string) =>
    inSession(command, async (session) => {
      const entry = requireListed(name);
      requireNames(command, entry.schema);
      const method = methodOf(entry, "List");
      const options = command.opts<Options>();
      const filter = fieldsOfPairs(method.input, options.filter ?? [], "--filter");
      const given = { ...filter, ...fieldsOf(command, flags) };
      requireFields(flags, given);
      const request = Object.keys(given).length === 0 ? given : await withUids(session, method, given);
      await addScope(session, entry, method, request, options);
      if (options.orderBy !== undefined) request.orderBy = options.orderBy;
      if (options.skip !== undefined) request.skip = options.skip;
      const limit = options.all ? Number.POSITIVE_INFINITY : options.limit;
      const rest = { count: 0n };
      const line = new ProgressLine();
      const { output } = command.opts<{ output: string }>();
      const documented = output === documentsFormat ? requireDocuments(entry) : undefined;
      const names = output === "table" ? new Map<string, string>() : undefined;
      const told = { rest, line, names };
      const items =
        options.sortBy === undefined
          ? itemsOf(session, entry, method, request, limit, told)
          : sorted(entry, itemsOf(session, entry, method, request, Number.POSITIVE_INFINITY, told), options.sortBy, {
              limit,
              rest,
            });
      try {
        if (documented !== undefined) await printAsDocuments(session, documented, items);
        else await printMessages(command, entry.schema, items, { names });
      } finally {
        line.clear();
      }
      if (rest.count > 0n)
        console.error(`${rest.count} more: --all prints them, --limit ${Number(rest.count) + limit} too`);
    }),
  );
}

/** What `--filter` takes; the filter by hierarchy has no options of its own. */
function filterHelp(input: DescMessage | undefined): string {
  if (input === undefined) return "only those with this value; `platform list RESOURCES --help` has the names";
  const names = input.field.uidp?.message?.fields.map(({ name }) => `uidp.${name}`) ?? [];
  return `only those with this value; see below for names${names.length === 0 ? "" : `, besides ${names.join(", ")}`}`;
}

/**
 * Puts uids in the place of names. Value rules say where; they take longer to load than a list without filters takes.
 */
async function withUids(session: Session, { input }: DescMethod, fields: JsonObject): Promise<JsonObject> {
  const { resolveReferences } = await import("../documents/spec.ts");
  const request = await resolveReferences(session, input, fields, "--filter");
  const { image } = input.field;
  if (image !== undefined && namesImage(image) && typeof request.image === "string") {
    const { withRepoUid } = await import("../images/image-name.ts");
    request.image = await withRepoUid(session, request.image);
  }
  return request;
}

/** What {@link itemsOf} reports beside the items. */
interface Told {
  /** How many the server has beyond the limit. */
  readonly rest: { count: bigint };
  /** How far it is. A table on a terminal shows that itself. */
  readonly line: ProgressLine;
  /** The names of what the items refer to; undefined if nobody needs them. */
  readonly names: Map<string, string> | undefined;
}

/** The items of all pages, at most `limit`. */
async function* itemsOf(
  session: Session,
  { schema }: ListedKind,
  method: DescMethod,
  fields: JsonObject,
  limit: number,
  { rest, line, names }: Told,
): AsyncGenerator<Message> {
  const items = method.output.fields.find(({ message }) => message?.typeName === schema.typeName)!;
  let printed = 0;
  let pageToken = "";
  do {
    const size = Math.min(maxPageSize, limit - printed);
    const paging = method.input.field.pageSize === undefined ? {} : { pageSize: size, pageToken };
    const request = fromJson(method.input, { ...fields, ...paging } as JsonObject);
    const page = (await callMethod(session, method, request)) as Page;
    const pageItems = page[items.localName] as Message[];
    if (names !== undefined) await addNames(session, schema, pageItems, names);
    for (const item of pageItems) {
      yield item;
      if (++printed >= limit) break;
    }
    pageToken = page.nextPageToken ?? "";
    if (!process.stdout.isTTY) line.show(() => progressText(printed, page));
    if (pageToken !== "" && printed >= limit && page.totalCount !== undefined)
      rest.count = page.totalCount - BigInt(printed) - BigInt(page.skipped ?? 0);
  } while (pageToken !== "" && printed < limit);
}

/**
 * The first items in the order of what a path finds; those without it come first. Errors: CommandFailure if none has
 * it.
 */
async function* sorted(
  { schema, plural }: ListedKind,
  items: AsyncIterable<Message>,
  path: JsonPath,
  { limit, rest }: { readonly limit: number; readonly rest: { count: bigint } },
): AsyncGenerator<Message> {
  const keyed: { readonly item: Message; readonly key: JsonValue | undefined }[] = [];
  for await (const item of items) {
    const json = jsonOf(schema, item);
    keyed.push({ item, key: path(json, json)[0] });
  }
  if (keyed.length > 0 && keyed.every(({ key }) => key === undefined))
    throw new CommandFailure(`--sort-by: none of the ${plural} has such a field`, 2);
  keyed.sort(({ key: a }, { key: b }) =>
    a === undefined || b === undefined ? Number(a !== undefined) - Number(b !== undefined) : (order(a, b) ?? 0),
  );
  if (keyed.length > limit) rest.count = BigInt(keyed.length - limit);
  for (const { item } of keyed.slice(0, limit)) yield item;
}

function jsonPathOf(text: string): JsonPath {
  try {
    return parsePath(text);
  } catch (error) {
    throw error instanceof CommandFailure ? new InvalidArgumentError(error.message) : error;
  }
}

/** `1,200 of 40,000`. */
function progressText(printed: number, { totalCount, skipped = 0 }: Page): string {
  const total = totalCount === undefined ? "" : ` of ${(totalCount - BigInt(skipped)).toLocaleString("en")}`;
  return `${printed.toLocaleString("en")}${total}`;
}

type Page = Message & Record<string, unknown> & { nextPageToken?: string; totalCount?: bigint; skipped?: number };

/** Puts `--parent` and `--below` into the request's filter by hierarchy. */
async function addScope(
  session: Session,
  kind: ListedKind,
  { input }: DescMethod,
  request: JsonObject,
  { parent, below }: Options,
): Promise<void> {
  for (const [flag, text, name] of [
    ["--parent", parent, "children_of"],
    ["--below", below, "descendants_of"],
  ] as const) {
    if (text === undefined) continue;
    const filter = input.field.uidp;
    const field = filter?.message?.fields.find((it) => it.name === name);
    if (filter === undefined || field === undefined)
      throw new CommandFailure(`${flag}: ${kind.plural} have no parent`, 2);
    const type = flag === "--below" ? undefined : parentType(kind);
    const uid = await uidOf(session, type ?? groupType(field), text);
    request[filter.jsonName] = { ...(request[filter.jsonName] as JsonObject), [field.jsonName]: uid };
  }
}

/** The type that a field refers to; that of groups where it may refer to any. */
function groupType(field: DescField): string {
  return getOption(field, resource_reference).type || (findResource("group")?.type ?? "");
}
