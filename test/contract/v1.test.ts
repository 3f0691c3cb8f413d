/**
 * The methods of v1, held against `v1-methods.txt`. Its columns: method, HTTP method, path, body, where the
 * capabilities are needed, capabilities, event type and its extension attributes.
 *
 * The table is that of the public API with one exception: ListDocuments and ListVulnerabilityMetadata need a token, as
 * their successors do.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Level } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { capabilities } from "../../src/auth/index.ts";
import { readContract } from "../../src/contract/index.ts";
import { generatedServices, isOfV1 } from "./generated.ts";

const services = generatedServices.filter(isOfV1);
const contract = readContract(services);
const none = "-";

/** The columns of a method, as its descriptor has them. */
function columnsOf(method: DescMethod): string[] {
  const { domain, authorization, event } = contract.of(method);
  const { pattern, body } = getOption(method, http);
  const names =
    authorization.kind === "open" ? [] : authorization.capabilities.map((each) => capabilities.get(each)?.name);
  return [
    `${domain}.${method.parent.name}.${method.name}`,
    pattern.case?.toUpperCase() ?? none,
    String(pattern.value),
    body || none,
    authorization.kind,
    names.join(" ") || none,
    event === undefined ? none : `${event.type.replace(/^dev\.platform\.api\./, "")} ${event.extensions.join(",")}`,
  ];
}

test("the methods are those of the table", () => {
  const table = readFileSync(join(import.meta.dirname, "v1-methods.txt"), "utf8")
    .trimEnd()
    .split("\n");
  const rows = contract.methods.map(({ method }) => columnsOf(method));
  expect(rows.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1))).toEqual(table.map((line) => line.split(/ {2,}/)));
});

test("events reach customers", () => {
  const events = contract.methods.flatMap(({ event }) => event ?? []);
  expect(events.filter(({ type, internal }) => internal || !type.startsWith("dev.platform.api."))).toEqual([]);
});

test("GET changes nothing, PUT and DELETE are idempotent", () => {
  const levels: Readonly<Record<string, Level>> = {
    get: Level.NO_SIDE_EFFECTS,
    put: Level.IDEMPOTENT,
    delete: Level.IDEMPOTENT,
  };
  const wrong = contract.methods.filter(({ method }) => {
    const level = levels[getOption(method, http).pattern.case ?? ""];
    return level !== undefined && level !== method.idempotency;
  });
  expect(wrong.map(({ method }) => `${method}`)).toEqual([]);
});
