/** How gRPC clients call the operations of a document: samples for viewers, under `x-codeSamples`. */
import { type DescField, type DescMessage, type DescMethod, type DescService, ScalarType } from "@bufbuild/protobuf";
import type { Json } from "./document.ts";

/** A sample of code. */
interface CodeSample {
  readonly [key: string]: Json;
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** A document that was read, as far as samples need it. */
interface ReadDocument {
  readonly paths: Record<string, Record<string, Record<string, Json>>>;
}

/** Where gRPC clients reach the server. */
export interface GrpcAddress {
  /** `api.example.com:443`. */
  readonly authority: string;
  readonly isSecure: boolean;
}

/**
 * Adds samples to the operations of a document, in place. They are found by the RPC that their description ends with.
 */
export function addGrpcSamples(document: ReadDocument, services: readonly DescService[], address: GrpcAddress): void {
  const methods = new Map<string, DescMethod>(
    services.flatMap((service) => service.methods.map((method) => [`${service.typeName}/${method.name}`, method])),
  );
  for (const item of Object.values(document.paths)) {
    for (const operation of Object.values(item)) {
      const [, name = ""] = /RPC: `(.*)`\.$/.exec(String(operation.description)) ?? [];
      const method = methods.get(name);
      const isOpen = Array.isArray(operation.security) && operation.security.length === 0;
      if (method !== undefined) operation["x-codeSamples"] = samplesOf(method, address, isOpen);
    }
  }
}

function samplesOf(method: DescMethod, { authority, isSecure }: GrpcAddress, isOpen: boolean): CodeSample[] {
  const name = `${method.parent.typeName}/${method.name}`;
  const body = JSON.stringify(sampleOf(method.input));
  const token = '"authorization: Bearer $TOKEN"';
  const grpcurl = ["grpcurl", ...(isSecure ? [] : ["-plaintext"]), ...(isOpen ? [] : [`-H ${token}`])];
  const buf = [
    "buf curl --protocol grpc",
    ...(isSecure ? [] : ["--http2-prior-knowledge"]),
    ...(isOpen ? [] : [`-H ${token}`]),
  ];
  const shell = (words: readonly string[]) => words.join(" \\\n  ");
  return [
    { lang: "protobuf", label: "Protobuf", source: excerptOf(method) },
    { lang: "shell", label: "grpcurl", source: shell([...grpcurl, `-d '${body}'`, authority, name]) },
    {
      lang: "shell",
      label: "buf curl",
      source: shell([...buf, `-d '${body}'`, `${isSecure ? "https" : "http"}://${authority}/${name}`]),
    },
  ];
}

/** A request with a value for each field that a caller would think of first: the texts of the message itself. */
function sampleOf({ fields }: DescMessage): Record<string, Json> {
  const isFirst = (field: DescField) => field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;
  const [first] = fields.filter(isFirst);
  const entries = fields.flatMap((field): [string, Json][] => {
    if (field === first) return [[field.jsonName, "…"]];
    const isResource = field.fieldKind === "message" && field.message.fields.some(({ name }) => name === "uid");
    return isResource ? [[field.jsonName, sampleOf(field.message)]] : [];
  });
  return Object.fromEntries(entries);
}

/** The declaration of a method and of its messages. */
function excerptOf({ parent, name, input, output, methodKind }: DescMethod): string {
  const stream = methodKind === "server_streaming" ? "stream " : "";
  const rpc = `rpc ${name}(${shortName(input, parent)}) returns (${stream}${shortName(output, parent)});`;
  const messages = [...new Set([input, output])].filter(({ file }) => !file.name.startsWith("google/"));
  const service = `package ${parent.file.proto.package};\n\nservice ${parent.name} {\n  ${rpc}\n}`;
  return [service, ...messages.map(messageText)].join("\n\n");
}

function messageText(desc: DescMessage): string {
  const lines = desc.fields.map((field) => `  ${typeText(field)} ${field.name} = ${field.number};`);
  return lines.length === 0 ? `message ${desc.name} {}` : `message ${desc.name} {\n${lines.join("\n")}\n}`;
}

function typeText(field: DescField): string {
  const value = field.message ?? field.enum;
  const name =
    value === undefined ? ScalarType[field.scalar as ScalarType]!.toLowerCase() : shortName(value, field.parent);
  if (field.fieldKind === "map") return `map<${ScalarType[field.mapKey]!.toLowerCase()}, ${name}>`;
  return field.fieldKind === "list" ? `repeated ${name}` : name;
}

/** A name as it is written in the same package. */
function shortName({ typeName }: { readonly typeName: string }, { file }: DescMessage | DescService): string {
  const prefix = `${file.proto.package}.`;
  return typeName.startsWith(prefix) ? typeName.slice(prefix.length) : typeName;
}
