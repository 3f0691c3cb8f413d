/**
 * Plugins for protoc and buf that write documents. Not part of the module's index: a server does not load what plugins
 * are made with.
 */
import { buffer } from "node:stream/consumers";
import {
  create,
  createFileRegistry,
  type DescService,
  fromBinary,
  maximumEdition,
  minimumEdition,
  toBinary,
} from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponse_Feature,
  CodeGeneratorResponse_FileSchema,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { dump } from "js-yaml";
import { commentOf } from "./comments.ts";
import { type CommentOf, createDocument, type Document } from "./index.ts";

/** The documents of the services of all files, by path without extension. */
export type DocumentsOf = (
  services: readonly DescService[],
  commentOf: CommentOf,
  options: PluginParameters,
) => Record<string, Document>;

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

/** Answers the request of buf or protoc on standard input. Errors: the answer names them, and they print it. */
export async function runPlugin(documentsOf: DocumentsOf): Promise<void> {
  const { protoFile, fileToGenerate, parameter } = fromBinary(CodeGeneratorRequestSchema, await buffer(process.stdin));
  const response = create(CodeGeneratorResponseSchema, {
    supportedFeatures: BigInt(
      CodeGeneratorResponse_Feature.PROTO3_OPTIONAL | CodeGeneratorResponse_Feature.SUPPORTS_EDITIONS,
    ),
    minimumEdition,
    maximumEdition,
  });
  try {
    const options = parseParameters(parameter);
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: protoFile }));
    const services = fileToGenerate.flatMap((path) => registry.getFile(path)!.services);
    const formats = options.format === "both" ? (["json", "yaml"] as const) : [options.format];
    response.file = Object.entries(documentsOf(services, commentOf, options)).flatMap(([path, document]) =>
      formats.map((format) =>
        create(CodeGeneratorResponse_FileSchema, {
          name: `${path}.${format}`,
          content: formatDocument(document, format),
        }),
      ),
    );
  } catch (error) {
    response.error = (error as Error).message;
  }
  process.stdout.write(toBinary(CodeGeneratorResponseSchema, response));
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
function formatDocument(document: Document, format: "json" | "yaml"): string {
  const plain: unknown = JSON.parse(JSON.stringify(document)); // without members that are undefined
  return format === "json" ? `${JSON.stringify(plain, undefined, 2)}\n` : dump(plain, { lineWidth: 120, noRefs: true });
}

/** Reads `title=Library,format=yaml`. A `target`, which plugins for JavaScript take, is skipped. */
function parseParameters(given: string): PluginParameters {
  const parameters: PluginParameters = { ...defaults };
  for (const parameter of given.split(",").filter((part) => part !== "")) {
    const [key, ...rest] = parameter.split("=");
    const value = rest.join("=");
    if (key === "target") continue;
    if (!Object.hasOwn(defaults, key!))
      throw new Error(`unknown option ${key}; known: ${Object.keys(defaults).join(", ")}`);
    if (choices[key!]?.includes(value) === false)
      throw new Error(`${key} must be one of ${choices[key!]!.join(", ")}, not ${value}`);
    Object.assign(parameters, { [key!]: value });
  }
  return parameters;
}
