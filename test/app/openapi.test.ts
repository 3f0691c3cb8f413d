/** The OpenAPI documents of the API, as they are checked in. */
import { describe, expect, test } from "vitest";
import examples from "../../src/app/openapi-examples.json" with { type: "json" };
import { type OpenApiVersion, openApiVersions, readOpenApi } from "../../src/app/openapi-files.ts";
import { listRoutes } from "../../src/rest/index.ts";
import { contractServices } from "../../src/services/index.ts";
import { isOfV1 } from "../contract/generated.ts";
import { findingsIn } from "../openapi/findings.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document has any shape
type Any = any;

const documents = new Map<OpenApiVersion, Any>();
for (const version of openApiVersions) documents.set(version, JSON.parse(await readOpenApi(version, "json")));

const operationsOf = (document: Any) =>
  Object.entries<Any>(document.paths).flatMap(([path, item]) =>
    Object.entries<Any>(item).map(([method, operation]) => ({ path, method, operation })),
  );

test("a planted fault is found", async () => {
  const broken = structuredClone(documents.get("v2"));
  broken.paths["/registry/v2/repos/{uid}"].post.requestBody.content["application/json"].example.name = 7;
  broken.paths["/registry/v2/repos/{uid}"].get.responses["200"].content["application/json"].schema.$ref += "s";
  const findings = await findingsIn(broken);
  expect(findings.join("\n")).toMatch(/redocly no-invalid-media-type-examples.*example\/name/);
  expect(findings.join("\n")).toMatch(/no-unresolved-refs|invalid-ref/);
});

describe.each(openApiVersions)("the document of %s", (version) => {
  const document = documents.get(version);
  const operations = operationsOf(document);
  const services = contractServices.filter((service) => isOfV1(service) === (version === "v1"));

  test("has nothing that validators and linters find, in examples neither", async () => {
    expect(await findingsIn(document)).toEqual([]);
    const withExample = operations.filter(({ operation }) => operation.operationId in examples[version]);
    expect(withExample).toHaveLength(Object.keys(examples[version]).length);
  });

  /** Method and path of a route, whatever the names of its variables. */
  const shapeOf = (method: string, path: string) => `${method.toUpperCase()} ${path.replace(/\{[^}]*\}/g, "{}")}`;

  test("has each route as an operation, and each operation is a route", () => {
    const routes = listRoutes(services);
    expect(operations.map(({ method, path }) => shapeOf(method, path)).sort()).toEqual(
      routes.map(({ httpMethod, template }) => shapeOf(httpMethod, template)).sort(),
    );
    for (const { method, httpMethod, template } of routes) {
      const found = operations.find((each) => shapeOf(each.method, each.path) === shapeOf(httpMethod, template));
      const name = method.replace(/\.(?=\w+$)/, "/");
      expect(found?.operation.description).toContain(`RPC: \`${name}\`.`);
    }
  });

  test("asks for a token but for open methods", () => {
    const open = operations.filter(({ operation }) => operation.security?.length === 0).map(({ path }) => path);
    expect(open).toEqual(version === "v2" ? ["/ping/v2/ping"] : []);
  });

  test("has what a reader needs of every operation", () => {
    for (const { operation } of operations) {
      expect(operation.summary).not.toBe("");
      expect(operation.tags).toHaveLength(1);
      expect(operation.responses).toHaveProperty("200");
      expect(operation.responses).toHaveProperty("default");
      for (const parameter of operation.parameters) expect(parameter.$ref ?? parameter.description).toBeTruthy();
    }
  });

  test("is the same in YAML", async () => {
    const { load } = await import("js-yaml");
    const parsed: unknown = load(await readOpenApi(version, "yaml"), {});
    expect(JSON.parse(JSON.stringify(parsed))).toEqual(document);
  });
});
