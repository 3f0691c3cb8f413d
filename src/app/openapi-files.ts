/** The OpenAPI documents of the API, as they were generated. */
import { readFile } from "node:fs/promises";

/** The versions of the API that have a document. */
export const openApiVersions = ["v1", "v2"] as const;

/** The forms of a document. */
export const openApiFormats = ["json", "yaml"] as const;

export type OpenApiVersion = (typeof openApiVersions)[number];
export type OpenApiFormat = (typeof openApiFormats)[number];

/** Folders of the documents: beside `src` in a checkout, beside `dist` in an installed package. */
const folders = ["../../gen/openapi/", "../../../gen/openapi/"].map((path) => new URL(path, import.meta.url));

/** The text of a document. Errors: Error if the installation lacks it. */
export async function readOpenApi(version: OpenApiVersion, format: OpenApiFormat): Promise<string> {
  for (const folder of folders) {
    try {
      return await readFile(new URL(`platform-${version}.${format}`, folder), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  throw new Error(`the OpenAPI document of ${version} is not where the program was installed`);
}
