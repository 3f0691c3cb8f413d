/**
 * What a foreign server says reaches neither a terminal nor the commands of a CI system: every command, every format.
 */
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  create,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { load } from "js-yaml";
import { expect, onTestFinished, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { contractCatalog } from "../../src/remote/catalog/contract.ts";
import { contractRegistry } from "../../src/remote/catalog/descriptors.ts";
import { formats } from "../../src/remote/contract-check/report.ts";
import type { Result } from "../../src/remote/contract-check/results.ts";
import { yamlOf } from "../../src/remote/print/yaml.ts";
import { temporaryFolder } from "../cli/platform-process.ts";
import { runHere } from "../cli/run-here.ts";

const texts = [
  "a\n::error file=x::injected\nb",
  "::add-mask::b",
  " ::stop-commands::x y",
  `${"word ".repeat(30)}::error::folded`,
  "x ##vso[task.setvariable variable=a]b ##[error]c ##teamcity[d]",
  "a\r::error::b\u0085c\u2028d",
  "\u001b]0;title\u0007\u001b[2J\u009b31m",
  "\u202eabc\u2066d\u{e0041}\u{e0042}\u00ad\u180e\ufff9",
];
const uid = "0".repeat(40);

/** Each text takes its turn. */
let turn = 0;
const hostile = () => texts[turn++ % texts.length]!;

function harmless(output: string): void {
  expect(output.replaceAll("\n", "")).not.toMatch(
    /[\p{Cc}\p{Zl}\p{Zp}\u00ad\u180e\u200b\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\u{e0000}-\u{e007f}]/u,
  );
  for (const line of output.split("\n")) {
    expect(line).not.toMatch(/^\s*::.*::/);
    expect(line).not.toMatch(/##(?:vso|teamcity)?\[/);
  }
}

/** A message of which every text is hostile, and everything is there. */
function messageOf(desc: DescMessage, depth = 3): JsonObject {
  return Object.fromEntries(
    desc.fields.flatMap((field): [string, JsonValue][] => {
      const value = jsonValueOf(field, depth);
      if (value === undefined) return [];
      if (field.fieldKind === "map") return [[field.jsonName, { [hostile()]: value }]];
      return [[field.jsonName, field.fieldKind === "list" ? [value] : value]];
    }),
  );
}

function jsonValueOf(field: DescField, depth: number): JsonValue | undefined {
  if (field.oneof !== undefined && field.oneof.fields[0] !== field) return undefined;
  if (field.message?.typeName.startsWith("google.protobuf.")) return undefined;
  if (field.message) return depth > 0 ? messageOf(field.message, depth - 1) : undefined;
  return field.scalar === ScalarType.STRING ? hostile() : undefined;
}

/** Answers every call of the contract with success, but for page tokens. */
const succeed: RequestListener = ({ url = "" }: IncomingMessage, response: ServerResponse) => {
  const [, service = "", name = ""] = url.split("/");
  const method = contractRegistry()
    .getService(service)
    ?.methods.find((it) => it.name === name);
  const { nextPageToken: _, ...message } = method === undefined ? {} : messageOf(method.output);
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(message));
};

/** Refuses every call. */
const refuse: RequestListener = (_request, response) => {
  const fieldViolations = texts.map((description) => ({ field: "", description }));
  const request = create(BadRequestSchema, { fieldViolations });
  const value = Buffer.from(toBinary(BadRequestSchema, request)).toString("base64");
  const body = {
    code: "invalid_argument",
    message: `Invalid argument: ${hostile()}`,
    details: [{ type: "google.rpc.BadRequest", value }],
  };
  response.writeHead(400, { "content-type": "application/json", "x-request-id": "r" }).end(JSON.stringify(body));
};

/** Refuses every call in a line of its own. */
const deny: RequestListener = (_request, response) => {
  response
    .writeHead(403, { "content-type": "application/json" })
    .end(JSON.stringify({ code: "permission_denied", message: hostile() }));
};

async function start(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => listener(request, response));
  }).listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const kinds = contractCatalog().resources.map(({ singular }) => singular);
const outputs = ["table", "wide", "json", "yaml", "name"];

test.for([
  ["succeeds", succeed],
  ["refuses", refuse],
  ["denies", deny],
] as const)("a server that %s", async ([what, listener]) => {
  const server = await start(listener);
  const document = join(await temporaryFolder(), "role.yaml");
  await writeFile(document, `kind: Role\nparent: ${uid}\nspec: { name: a, capabilities: [CAP_REPO_LIST] }\n`);
  const commands = [
    ...outputs.flatMap((format) => kinds.map((kind) => ["get", kind, uid, "-o", format])),
    ...outputs.map((format) => ["list", "roles", "-o", format]),
    ...outputs.map((format) => ["list", "advisories", "-o", format]),
    ["delete", "role", uid, "--yes"],
    ["create", "role", "--parent", uid, "--name", "a", "--capabilities", "CAP_REPO_LIST"],
    ["update", "role", uid, "--name", "b"],
    ["apply", "-f", document],
    ["diff", "-f", document],
    ["wait", "role", uid, "--for", "exists", "--within", "1"],
    ["whoami"],
    ["ping"],
  ];
  let hasText = false;
  for (const command of commands) {
    const { stdout, stderr } = await runHere([...command, "--server", server], {
      env: { PLATFORM_TOKEN: "x", XDG_CONFIG_HOME: "/nonexistent", XDG_STATE_HOME: await temporaryFolder() },
    });
    harmless(stdout);
    harmless(stderr);
    expect(stderr, command.join(" ")).not.toContain("internal error");
    hasText ||= /\\u001b/.test(stdout + stderr);
    if (command.includes("json")) expect(() => stdout === "" || JSON.parse(stdout)).not.toThrow();
  }
  expect(hasText, what).toBe(true);
});

test.each(Object.entries(formats))("a check of a contract, as %s", (format, print) => {
  const results: Result[] = texts.flatMap((text) => [
    {
      rule: "calls/succeed",
      operation: "GetRole",
      outcome: "differs",
      count: 1,
      expected: text,
      actual: { [text]: text },
    },
    { rule: "calls/succeed", operation: "GetRole", outcome: "skipped", count: 0, reason: text },
  ]);
  const text = print(results);
  harmless(text);
  if (format === "json")
    expect(
      JSON.parse(text)
        .map(({ reason }: Result) => reason)
        .filter(Boolean),
    ).toEqual(texts);
});

test("YAML has the same texts", async () => {
  const value = { texts, "key\n::x::": { nested: ["plain", "two\nlines\n", "'quoted'", "5"] } };
  const text = await yamlOf(value);
  harmless(text);
  expect(load(text)).toEqual(value);
  expect(text).toContain("plain");
  expect(text).toMatch(/\|\n +two\n +lines/);
});
