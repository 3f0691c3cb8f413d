/** What the OpenAPI documents say of answers and requests, and that an answer that differs is found. */
import { describe, expect, test } from "vitest";
import type { Json } from "./contract.ts";
import { documentedOperations, expectDocumented, operationOf } from "./documented.ts";
import { onOneServer } from "./platform.ts";

const uid = "0".repeat(40);
const times = { createTime: "2026-01-01T00:00:00.000Z", updateTime: "2026-01-01T00:00:00.000Z", etag: "" };
const tag = { uid, name: "latest", digest: "", deprecated: false, bundles: [], ...times };
const list = { tags: [tag], totalCount: "1", skipped: 0 };
const detail = (type: string, fields: Json) => ({ "@type": `type.googleapis.com/${type}`, ...fields });
const status = (...details: Json[]) => ({ code: 3, message: "Invalid argument: name", details });
const violation = { field: "name", description: "must be longer" };

/** Holds an answer against the document of an operation. */
function hold(verb: string, path: string, answer: Json, httpStatus = 200): Promise<void> {
  const headers = { "content-type": "application/json" };
  return expectDocumented(
    operationOf(verb, path)!,
    new Response(JSON.stringify(answer), { status: httpStatus, headers }),
  );
}

describe("answers", () => {
  test.each<[string, string, Json, number?]>([
    ["a tag that names no image", "/registry/v2/tags/a", tag],
    ["a page", "/registry/v2/tags", list],
    [
      "a violation as the server writes it",
      "/registry/v2/tags",
      status(detail("google.rpc.BadRequest", { fieldViolations: [violation] })),
      400,
    ],
    [
      "a violation without text",
      "/registry/v2/tags",
      status(detail("google.rpc.BadRequest", { fieldViolations: [{}] })),
      400,
    ],
    ["a detail of a type that is not known", "/registry/v2/tags", status(detail("acme.Detail", { any: 1 })), 400],
    ["an error of a status that is not listed", "/registry/v2/tags", status(), 418],
  ])("%s is as documented", async (_, path, answer, httpStatus) => {
    await hold("GET", path, answer, httpStatus);
  });

  test.each<[string, string, Json, number?]>([
    ["without a uid", "/registry/v2/tags/a", { ...tag, uid: undefined }],
    ["without a time", "/registry/v2/tags/a", { ...tag, createTime: undefined }],
    ["with a time that is none", "/registry/v2/tags/a", { ...tag, createTime: "yesterday" }],
    ["with a field that is not documented", "/registry/v2/tags/a", { ...tag, extra: 1 }],
    ["without a total", "/registry/v2/tags", { ...list, totalCount: undefined }],
    ["with a total that is a number", "/registry/v2/tags", { ...list, totalCount: 1 }],
    ["without details", "/registry/v2/tags", { code: 3, message: "" }, 400],
    ["with a detail without type", "/registry/v2/tags", status({ fieldViolations: [violation] }), 400],
    ["with a detail of google that is not documented", "/registry/v2/tags", status(detail("google.rpc.Help", {})), 400],
    [
      "with a violation whose field is a number",
      "/registry/v2/tags",
      status(detail("google.rpc.BadRequest", { fieldViolations: [{ field: 1 }] })),
      400,
    ],
  ])("an answer %s is not as documented", async (_, path, answer, httpStatus) => {
    await expect(hold("GET", path, answer, httpStatus)).rejects.toThrow("by ");
  });
});

onOneServer("orders", (platform) => {
  const sorted = documentedOperations.flatMap(({ verb, path, parameters }) => {
    const pattern = parameters.find(({ name }) => name === "order_by")?.schema?.pattern;
    const needsMore = parameters.some(({ required }) => required === true);
    return verb === "GET" && pattern !== undefined && !needsMore ? [{ path, pattern }] : [];
  });

  test("every one has a pattern", () => {
    const orders = documentedOperations.flatMap(({ parameters }) =>
      parameters.filter(({ name, schema }) => name === "order_by" && schema?.type === "string"),
    );
    for (const { schema } of orders) expect(schema).toHaveProperty("pattern");
    expect(orders.length).toBeGreaterThanOrEqual(sorted.length);
  });

  test.each(sorted)("those that $path documents are those that it takes", async ({ path, pattern }) => {
    const names = [...new Set(/\(\?:([\w|]+)\)/.exec(pattern)![1]!.split("|"))];
    const violatedBy = async (order: string) => {
      const answer = await platform().fetch(`${path}?order_by=${encodeURIComponent(order)}`);
      const { details = [] } = (await answer.json()) as Json;
      return details.flatMap((each: Json) => (each.fieldViolations ?? []).map(({ field }: Json) => field));
    };
    for (const order of [...names, ...names.map((name) => `${name} desc`)]) {
      expect(order).toMatch(new RegExp(pattern, "u"));
      expect(await violatedBy(order), order).not.toContain("order_by");
    }
    for (const order of ["nothing", `${names[0]} down`]) {
      expect(order).not.toMatch(new RegExp(pattern, "u"));
      expect(await violatedBy(order), order).toContain("order_by");
    }
  });
});
