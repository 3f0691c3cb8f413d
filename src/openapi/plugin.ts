/**
 * Plugins for protoc and buf that write documents. Not part of the module's index: a server does not load what plugins
 * are made with.
 */
import type { DescService } from "@bufbuild/protobuf";
import { createEcmaScriptPlugin } from "@bufbuild/protoplugin";
import { dump } from "js-yaml";
import { commentOf } from "./comments.ts";
import { type CommentOf, createDocument, type Document } from "./index.ts";

/** What a plugin is made from. */
export interface OpenApiPluginOptions {
  readonly name: string;
  readonly version: string;
  /** The documents of the services of all files, by path without extension. */
  documentsOf(
    services: readonly DescService[],
    commentOf: CommentOf,
    options: PluginParameters,
  ): Record<string, Document>;
}

/** What users may give to a plugin: `opt: [title=Library, format=yaml]`. */
export interface PluginParameters {
  readonly title: string;
  readonly version: string;
  /** Path of the document without extension. */
  readonly file: string;
  readonly server: string;
  /** The licence of the API, an SPDX identifier; "" for none. */
  readonly license: string;
  /** How calls are authenticated. */
  readonly security: "none" | "bearer";
  readonly format: "json" | "yaml" | "both";
}

const defaults: PluginParameters = {
  title: "API",
  version: "1.0.0",
  file: "openapi",
  server: "/",
  license: "",
  security: "none",
  format: "json",
};

/** The parameters with few values. */
const choices: Readonly<Record<string, readonly string[]>> = {
  security: ["none", "bearer"],
  format: ["json", "yaml", "both"],
};

/** Makes a plugin that runs with buf and with protoc. */
export function createOpenApiPlugin({ name, version, documentsOf }: OpenApiPluginOptions) {
  return createEcmaScriptPlugin<PluginParameters>({
    name,
    version,
    parseOptions: parseParameters,
    generateTs({ files, options, generateFile }) {
      const services = files.flatMap((file) => file.services);
      for (const [path, document] of Object.entries(documentsOf(services, commentOf, options))) {
        if (options.format !== "yaml") generateFile(`${path}.json`).print(formatDocument(document, "json").trimEnd());
        if (options.format !== "json") generateFile(`${path}.yaml`).print(formatDocument(document, "yaml").trimEnd());
      }
    },
  });
}

/** The document of any services, without what only their API knows. */
export function plainDocument(
  services: readonly DescService[],
  commentOf: CommentOf,
  { title, version, file, server, license, security }: PluginParameters,
): Record<string, Document> {
  const document = createDocument({
    services,
    errorDetails: [],
    commentOf,
    json: { alwaysEmitImplicit: true },
    emptyAnswer: "nothing",
    info: {
      title,
      version,
      description: title,
      contact: { name: title },
      ...(license !== "" && { license: { name: license, identifier: license } }),
    },
    servers: [{ url: server }],
    ...(security === "bearer" && {
      security: { schemes: { bearer: { type: "http", scheme: "bearer" } }, required: [{ bearer: [] }] },
    }),
  });
  return { [file]: document };
}

/** The text of a document. */
export function formatDocument(document: Document, format: "json" | "yaml"): string {
  const plain: unknown = JSON.parse(JSON.stringify(document)); // without members that are undefined
  return format === "json" ? `${JSON.stringify(plain, undefined, 2)}\n` : dump(plain, { lineWidth: 120, noRefs: true });
}

function parseParameters(given: { key: string; value: string }[]): PluginParameters {
  const parameters: PluginParameters = { ...defaults };
  for (const { key, value } of given) {
    if (!Object.hasOwn(defaults, key))
      throw new Error(`unknown option ${key}; known: ${Object.keys(defaults).join(", ")}`);
    if (choices[key]?.includes(value) === false)
      throw new Error(`${key} must be one of ${choices[key].join(", ")}, not ${value}`);
    Object.assign(parameters, { [key]: value });
  }
  return parameters;
}
