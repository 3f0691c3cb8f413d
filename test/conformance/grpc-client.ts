/**
 * A gRPC client that shares nothing with the server: `@grpc/grpc-js` speaks, `@grpc/proto-loader` reads the proto files
 * and the wire. Messages are brought from their JSON form into what protobufjs takes, and back.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { create, type DescField, type DescMessage, type DescMethodUnary, fromBinary, toJson } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  Client,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { expect } from "vitest";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { makeOnce } from "../make-once.ts";
import { allMethods, type Json, snakeCase } from "./contract.ts";
import { type Outcome, unpackDetail } from "./outcome.ts";

const home = join(import.meta.dirname, "../..");

/** Where the proto files are, with those that the contract imports. */
export function protoFolders(): string[] {
  const imported = makeOnce("proto-deps", (folder) =>
    execFileSync(process.execPath, [join(home, "proto/deps.mjs"), folder], { stdio: "inherit" }),
  );
  return [join(home, "proto"), imported];
}

const definition = loadSync(
  [...new Set([...allMethods.values()].map((method) => `${method.parent.file.name}.proto`))],
  {
    includeDirs: protoFolders(),
    longs: String,
    enums: String,
    defaults: true,
  },
);

/** A connection for gRPC calls. */
export function connectGrpc(baseUrl: string): Client {
  return new Client(new URL(baseUrl).host, credentials.createInsecure());
}

/** Makes the call. */
export async function callOverGrpc(
  client: Client,
  method: DescMethodUnary,
  request: Json,
  headers: Readonly<Record<string, string>>,
  deadlineMs?: number,
): Promise<Outcome> {
  const { path, requestSerialize, responseDeserialize } = definitionOf(method);
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  let received = new Metadata();
  const { error, answer } = await new Promise<{ error: ServiceError | null; answer: Json }>((resolve) => {
    const call: ClientUnaryCall = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      toProtobufjs(method.input, request),
      metadata,
      deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
      (error, answer) => resolve({ error, answer }),
    );
    call.on("metadata", (initial: Metadata) => {
      received = initial;
    });
  });
  const header = (name: string) => (received.get(name)[0] ?? error?.metadata?.get(name)[0])?.toString() ?? null;
  if (error === null) return { ok: true, message: fromProtobufjs(method.output, answer), header };
  const [packed] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (packed === undefined)
    return { ok: false, status: { code: error.code, message: error.details, details: [] }, header };
  const { code, message, details } = fromBinary(StatusSchema, packed as Buffer);
  expect(code, "grpc-status says what grpc-status-details-bin says").toBe(error.code);
  return {
    ok: false,
    status: {
      code,
      message,
      details: details.map(({ typeUrl, value }) => unpackDetail(typeUrl.replace(/^.*\//, ""), value)),
    },
    header,
  };
}

function definitionOf(method: DescMethodUnary): MethodDefinition<object, object> {
  const service = definition[method.parent.typeName] as unknown as Record<string, MethodDefinition<object, object>>;
  return service[method.name]!;
}

function toProtobufjs(desc: DescMessage, json: Json): Json {
  const entries = Object.entries(json).flatMap(([key, value]): [string, Json][] => {
    const field = desc.fields.find(({ jsonName }) => jsonName === key);
    if (field === undefined) throw new Error(`${desc.typeName} has no field ${key}`);
    if (value === null || value === undefined) return [];
    return [
      [
        field.localName,
        field.fieldKind === "list" ? (value as Json[]).map((v) => toValue(field, v)) : toValue(field, value),
      ],
    ];
  });
  return Object.fromEntries(entries);
}

function toValue(field: DescField, value: Json): Json {
  if (field.fieldKind === "map" || field.message === undefined) return value;
  switch (field.message.typeName) {
    case "google.protobuf.Timestamp": {
      const ms = Date.parse(value);
      const seconds = Math.floor(ms / 1000);
      return { seconds, nanos: (ms - seconds * 1000) * 1_000_000 };
    }
    case "google.protobuf.Duration":
      return { seconds: Number.parseInt(value, 10), nanos: 0 };
    case "google.protobuf.FieldMask":
      return { paths: value === "" ? [] : value.split(",").map(snakeCase) };
    default:
      return toProtobufjs(field.message, value);
  }
}

function fromProtobufjs(desc: DescMessage, message: Json): Json {
  const entries = desc.fields.flatMap((field): [string, Json][] => {
    const value = message[field.localName];
    if (value === null || value === undefined) return [];
    if (field.fieldKind === "list") return [[field.jsonName, value.map((item: Json) => fromValue(field, item))]];
    return [[field.jsonName, fromValue(field, value)]];
  });
  return Object.fromEntries(entries);
}

function fromValue(field: DescField, value: Json): Json {
  if (Buffer.isBuffer(value)) return value.toString("base64");
  if (field.fieldKind === "map" || field.message === undefined) return value;
  if (field.message.typeName === "google.protobuf.Timestamp")
    return new Date(Number(value.seconds) * 1000 + value.nanos / 1_000_000).toISOString();
  if (field.message.typeName === "google.protobuf.Duration")
    return toJson(DurationSchema, create(DurationSchema, { ...value, seconds: BigInt(value.seconds) })) as Json;
  return fromProtobufjs(field.message, value);
}
