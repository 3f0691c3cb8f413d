/** The OpenAPI documents of the API, as they were generated. */
import { readFile } from "node:fs/promises";
import { packageFile } from "../package-file.ts";

/** The versions of the API that have a document. */
export const openApiVersions = ["v1", "v2"] as const;

/** The forms of a document. */
export const openApiFormats = ["json", "yaml"] as const;

export type OpenApiVersion = (typeof openApiVersions)[number];
export type OpenApiFormat = (typeof openApiFormats)[number];

/** The text of a document. A package has them in JSON only. */
export async function readOpenApi(version: OpenApiVersion, format: OpenApiFormat): Promise<string> {
  const json = await readFile(packageFile(`gen/openapi/platform-${version}.json`), "utf8");
  return format === "json" ? json : await openApiYaml(JSON.parse(json));
}

/** A document in YAML. */
export async function openApiYaml(document: unknown): Promise<string> {
  const { dump } = await import("js-yaml"); // the server seldom needs it
  return dump(document, { lineWidth: 120, noRefs: true });
}
