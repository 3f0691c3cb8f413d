/** The OpenAPI documents of the API, as they are checked in. */
import { describe, expect, test } from "vitest";
import examples from "../../src/app/openapi-examples.json" with { type: "json" };
import { readOpenApi } from "../../src/app/openapi-files.ts";
import { listRoutes } from "../../src/rest/index.ts";
import { contractServices } from "../../src/services/index.ts";
import { findingsIn } from "../openapi/findings.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document has any shape
type Any = any;

const document = JSON.parse(await readOpenApi("v2", "json"));
const operations = Object.entries<Any>(document.paths).flatMap(([path, item]) =>
  Object.entries<Any>(item).map(([method, operation]) => ({ path, method, operation })),
);

test("validators and linters find nothing, in examples neither", async () => {
  expect(await findingsIn(document)).toEqual([]);
  const withExample = operations.filter(({ operation }) => operation.operationId in examples);
  expect(withExample).toHaveLength(Object.keys(examples).length);
});

test("they find a planted fault", async () => {
  const broken = structuredClone(document);
  broken.paths["/registry/v2/repos/{uid}"].post.requestBody.content["application/json"].example.name = 7;
  broken.paths["/registry/v2/repos/{uid}"].get.responses["200"].content["application/json"].schema.$ref += "s";
  const findings = await findingsIn(broken);
  expect(findings.join("\n")).toMatch(/redocly no-invalid-media-type-examples.*example\/name/);
  expect(findings.join("\n")).toMatch(/no-unresolved-refs|invalid-ref/);
});

describe("routes", () => {
  /** Method and path of a route, whatever the names of its variables. */
  const shapeOf = (method: string, path: string) => `${method.toUpperCase()} ${path.replace(/\{[^}]*\}/g, "{}")}`;

  test("each is an operation, and each operation is a route", () => {
    const routes = listRoutes(contractServices);
    expect(operations.map(({ method, path }) => shapeOf(method, path)).sort()).toEqual(
      routes.map(({ httpMethod, template }) => shapeOf(httpMethod, template)).sort(),
    );
    for (const { method, httpMethod, template } of routes) {
      const found = operations.find((each) => shapeOf(each.method, each.path) === shapeOf(httpMethod, template));
      const name = method.replace(/\.(?=\w+$)/, "/");
      expect(found?.operation.description).toContain(`RPC: \`${name}\`.`);
    }
  });

  test("only open methods need no token", () => {
    const open = operations.filter(({ operation }) => operation.security?.length === 0).map(({ path }) => path);
    expect(open).toContain("/ping/v2/ping");
    expect(open.every((path) => /^\/(ping|advisory)\//.test(path))).toBe(true);
  });
});

test("every operation has what a reader needs", () => {
  for (const { operation } of operations) {
    expect(operation.summary).not.toBe("");
    expect(operation.tags).toHaveLength(1);
    expect(operation.responses).toHaveProperty("200");
    expect(operation.responses).toHaveProperty("default");
    for (const parameter of operation.parameters) expect(parameter.$ref ?? parameter.description).toBeTruthy();
  }
});

test("the YAML document is the same", async () => {
  const { load } = await import("js-yaml");
  const parsed: unknown = load(await readOpenApi("v2", "yaml"), {});
  expect(JSON.parse(JSON.stringify(parsed))).toEqual(document);
});
