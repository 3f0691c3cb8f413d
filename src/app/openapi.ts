/** What the OpenAPI documents of this API say beyond their descriptors. */
import {
  type DescField,
  type DescMethod,
  type DescService,
  fromJson,
  hasOption,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { resource } from "../../gen/google/api/resource_pb.ts";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  RequestInfoSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";
import { capabilityList } from "../auth/index.ts";
import { storedFormat } from "../codec/index.ts";
import { type MethodContract, readContract } from "../contract/index.ts";
import { type CommentOf, createDocument, type Document, type Example, type MethodNotes } from "../openapi/index.ts";
import examples from "./openapi-examples.json" with { type: "json" };
import type { OpenApiVersion } from "./openapi-files.ts";

const parameters = {
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    description: "Makes a create call safe to repeat: for 24 hours, a call with the same key gets the same answer.",
    schema: { type: "string", pattern: "^[!-~]{1,255}$" },
  },
  "If-Match": {
    name: "If-Match",
    in: "header",
    description: "Etags of the resource as it was read. If it has changed since, the call fails with `ABORTED`.",
    schema: { type: "string" },
  },
  "If-None-Match": {
    name: "If-None-Match",
    in: "header",
    description: "Etags that the client has. If one is current, the answer is 304 without a body.",
    schema: { type: "string" },
  },
  "X-Request-Id": {
    name: "X-Request-Id",
    in: "header",
    description: "The id of the request in the logs and in the answer. Default: a random one.",
    schema: { type: "string", pattern: "^[A-Za-z0-9_.:-]{1,128}$" },
  },
};

const description = `Identity, container registry metadata, vulnerabilities, libraries, advisories and events behind one API.

The same operations answer gRPC, gRPC-Web, Connect and JSON/REST on one port.

**Uids.** A uid is the path of a resource: 40 hexadecimal digits for what has no parent, otherwise the uid of the parent,
a slash, and 16 more. In a path, the slashes of a uid may be written as they are or as \`%2F\`, which generated clients do.

**Lists** take \`page_size\` (default 50, at most 200), \`page_token\`, \`order_by\` and \`skip\`, and answer with the exact
\`totalCount\`. While \`nextPageToken\` is there, another page follows.

**Names.** JSON has lowerCamelCase names. Bodies and query parameters are also read in snake_case.

**Errors** are a \`google.rpc.Status\`, with typed details.

**Versions.** The document of v2 is at [/openapi.json](/openapi.json), that of v1 at [/openapi-v1.json](/openapi-v1.json).

**Limits.** A body has at most 1 MiB, the target and the header of a request together 16 KiB, unless the operator has
set others.`;

/** The document of one version of the API. `services`: those of the version, with comments. */
export function openApiDocument(
  services: readonly DescService[],
  version: OpenApiVersion,
  commentOf: CommentOf,
): Document {
  const contract = readContract(services);
  const domains = Map.groupBy(services, ({ file }) => file.proto.package.split(".")[1]!);
  return createDocument({
    services,
    errorDetails: [
      ErrorInfoSchema,
      BadRequestSchema,
      PreconditionFailureSchema,
      QuotaFailureSchema,
      RequestInfoSchema,
      ResourceInfoSchema,
      RetryInfoSchema,
    ],
    commentOf,
    json: storedFormat,
    emptyAnswer: "nothing",
    info: {
      title: "Platform API",
      version,
      description,
      contact: { name: "The operator of this server" },
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0.html" },
    },
    servers: [{ url: "/", description: "The server that has answered with this document" }],
    security: {
      schemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "A token of the platform, or of an OpenID provider that an identity trusts.",
        },
      },
      required: [{ bearer: [] }],
    },
    parameters,
    targetLimits,
    isAlwaysSet,
    patternOf: (field) =>
      field.name === "order_by" && field.fieldKind === "scalar" ? orderPattern(commentOf(field)) : undefined,
    more: {
      "x-tagGroups": [...domains].map(([domain, members]) => ({
        name: domain,
        tags: members.map(({ name }) => name.replace(/Service$/, "")),
      })),
    },
    notesOf: (method) => notesOf(method, contract.of(method)),
    examples: wholeExamples(version, services),
  });
}

/** The examples, with the fields that every answer has and they leave out, such as new ones. */
function wholeExamples(version: OpenApiVersion, services: readonly DescService[]): Record<string, Example> {
  const methods = new Map(services.flatMap((service) => service.methods.map((method) => [method.name, method])));
  return Object.fromEntries(
    Object.entries<Example>(examples[version]).map(([id, { response = {}, ...example }]) => {
      const { output } = methods.get(id)!;
      return [
        id,
        { ...example, response: toJson(output, fromJson(output, response as JsonValue), { alwaysEmitImplicit: true }) },
      ];
    }),
  );
}

/**
 * What fits into the target of a request: 16 KiB with the header, of which an item of the longest list, a uid, takes at
 * least 50 bytes.
 */
const targetLimits = { maxBytes: 16 * 1024, maxItems: 300 };

/** Fields with presence that every answer has: the times of resources, and totals. */
function isAlwaysSet({ name, parent }: DescField): boolean {
  if (name === "total_count") return true;
  return (name === "create_time" || name === "update_time") && hasOption(parent, resource);
}

/** The pattern of an order by the names that the comment of its field lists, and by those that stand for them. */
function orderPattern(comment: string): string {
  const text = comment.replaceAll("\n", " ");
  const [, list] = /^What to sort by: (?:any of )?((?:`\w+`(?:, )?)+)/.exec(text) ?? [];
  if (list === undefined) throw new Error(`the comment of an order lists no names: ${comment}`);
  const [, others = ""] = /((?:`\w+`(?: and )?)+) stand for/.exec(text) ?? [];
  const names = [...`${list} ${others}`.matchAll(/(?<=`)\w+(?=`)/g)].join("|");
  const one = `(?:${names})(?: (?:asc|desc))?`;
  return `^$|^${one}(?:, ?${one})*$`;
}

function notesOf(method: DescMethod, { authorization, mutates, isIdempotent, standard }: MethodContract): MethodNotes {
  const errors = [Code.ResourceExhausted, Code.Unavailable];
  if (authorization.kind === "open") return { security: [], parameters: ["X-Request-Id"], errors };
  const { capabilities } = authorization;
  const needed =
    capabilities.length === 0
      ? "Needs a token, and no capability."
      : authorization.kind === "scoped"
        ? `Needs ${capabilityList(capabilities)}.`
        : `Answers with what lies in the groups where the caller has ${capabilityList(capabilities)}.`;
  const isGet = standard?.verb === "Get";
  const hasEtag = isGet && "etag" in method.output.field;
  const isChange = standard?.verb === "Update" || standard?.verb === "Delete";
  return {
    description: needed,
    parameters: [
      ...(mutates && !isIdempotent ? ["Idempotency-Key"] : []),
      ...(isChange ? ["If-Match"] : []),
      ...(hasEtag ? ["If-None-Match"] : []),
      "X-Request-Id",
    ],
    errors: [...errors, Code.Unauthenticated, Code.PermissionDenied],
    isConditional: hasEtag,
    ...(hasEtag && {
      responseHeaders: { ETag: { description: "The etag of the resource.", schema: { type: "string" } } },
    }),
    extensions: { "x-capabilities": [capabilityList(capabilities)].filter((text) => text !== "") },
  };
}
