/** Custom methods: `platform group-invites accept`; and `platform call` for every method of every version. */
import type { DescField, DescMessage, DescMethod, JsonObject, JsonValue, Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Command } from "commander";
import { CommandFailure, readInput } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { printable } from "../../log-text.ts";
import { commentOf } from "../catalog/comments.ts";
import { contractServices } from "../catalog/descriptors.ts";
import { addFieldFlags, collect, fieldsOf, fieldsOfPairs, requireFields } from "../catalog/flags.ts";
import { itemsField, onlyMethod, type ServiceEntry } from "../catalog/resources.ts";
import { checkValues, messageOf, resolveReferences } from "../documents/spec.ts";
import { printMessages, requireNames, withOutput } from "../print/print.ts";
import { clearSecrets } from "../print/secrets.ts";
import { callMethod } from "../session/call.ts";
import { inSession, type Session, withSession } from "../session/session.ts";

/** The command of a service, with a command for each custom method; the method itself if it has the service's name. */
export function serviceCommand(entry: ServiceEntry): Command {
  const { name, customMethods } = entry;
  const only = onlyMethod(entry);
  if (only !== undefined) return methodCommand(name, only);
  const command = new Command(name).description(`Methods of ${name}.`);
  for (const [methodName, method] of customMethods) command.addCommand(methodCommand(methodName, method));
  return command;
}

function methodCommand(name: string, method: DescMethod): Command {
  const command = withOutput(withSession(new Command(name))).description(commentOf(method).replaceAll("\n", " "));
  const flags = addFieldFlags(command, method.input);
  return command.action(() =>
    inSession(command, async (session) => {
      const given = fieldsOf(command, flags);
      requireFields(flags, given);
      const fields = await resolveReferences(session, method.input, given, name);
      const request = messageOf(method.input, fields);
      await checkValues(method.input, request);
      await printResponse(command, session, method, request);
    }),
  );
}

export function makeCommand(): Command {
  const command = withOutput(withSession(new Command("call")))
    .argument("<SERVICE/METHOD>", "as platform.iam.v1.Roles/List; `platform routes` lists them")
    .option("-d, --data <JSON>", "the request; @FILE reads it from a file, @- from standard input")
    .option("--field <NAME=VALUE>", "a field of the request; dots lead into messages", collect);
  return command.action((path: string) =>
    inSession(command, async (session) => {
      const method = findMethod(path);
      const { data, field = [] } = command.opts<{ data?: string; field?: readonly string[] }>();
      const fields = { ...readData(data), ...fieldsOfPairs(method.input, field, "--field") };
      await printResponse(command, session, method, messageOf(method.input, fields));
    }),
  );
}

/** Calls a method and prints its response; of a list as a table or by names only its items. */
async function printResponse(command: Command, session: Session, method: DescMethod, request: Message): Promise<void> {
  const { output } = method;
  const isEmpty = output.typeName === "google.protobuf.Empty";
  const { output: format } = command.opts<{ output: string }>();
  const isWhole = ["json", "yaml"].includes(format) || format.startsWith("jsonpath=");
  const items = isWhole ? undefined : onlyItems(output);
  if (!isEmpty) requireNames(command, items?.message ?? output);
  const response = (await callMethod(session, method, request)) as Message & Record<string, unknown>;
  if (isEmpty) return;
  if ((request as Message & { readonly validateOnly?: boolean }).validateOnly) clearSecrets(output, response);
  const hasSecrets = method.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  if (items === undefined) return printMessages(command, output, [response], { single: true, hasSecrets });
  await printMessages(command, items.message!, response[items.localName] as Message[], { hasSecrets });
  const { nextPageToken } = response;
  if (nextPageToken) console.error(printable(`note: there are more: page_token=${nextPageToken}`));
}

/** Fields of lists (AIP-158) beside the items. */
const pageFields = ["next_page_token", "total_count", "skipped"];

/** The items of a response that has nothing else. */
function onlyItems(output: DescMessage): DescField | undefined {
  const items = itemsField(output);
  return output.fields.every((field) => field === items || pageFields.includes(field.name)) ? items : undefined;
}

/** The method that a path names: `platform.iam.v1.Roles/List`, with `/` or `.` before the method. */
function findMethod(path: string): DescMethod {
  const methods = contractServices().flatMap((service) => service.methods);
  const names = methods.map(({ parent, name }) => `${parent.typeName}/${name}`);
  const wanted = path.includes("/") ? path : path.replace(/\.(\w+)$/, "/$1");
  const found = methods[names.indexOf(wanted)];
  if (found?.methodKind === "unary") return found;
  if (found !== undefined)
    throw new CommandFailure(`${wanted} takes a document in pieces; see platform upload --help`, 2);
  throw new CommandFailure(`there is no method ${JSON.stringify(path)}${suggestion(wanted, names)}`, 2);
}

function readData(data: string | undefined): JsonObject {
  if (data === undefined) return {};
  const text = data.startsWith("@") ? readInput(data.slice(1), "--data") : data;
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CommandFailure(`--data: ${(error as Error).message}`, 2);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new CommandFailure("--data must be a JSON object", 2);
}
