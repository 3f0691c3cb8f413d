/** The descriptors of fixture.proto, and the registry that knows them and the types they use. */
import { readFileSync } from "node:fs";
import {
  clone,
  createFileRegistry,
  createRegistry,
  type DescMessage,
  type DescService,
  fromBinary,
  create as libraryCreate,
  type Message,
  setExtension,
  toBinary,
} from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { file_google_api_annotations, http } from "../../gen/google/api/annotations_pb.ts";
import { file_google_api_field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { file_google_api_httpbody } from "../../gen/google/api/httpbody_pb.ts";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";

const imports = [
  file_google_api_annotations,
  file_google_api_field_behavior,
  file_google_api_httpbody,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
];
const set = fromBinary(FileDescriptorSetSchema, readFileSync(new URL("fixture.binpb", import.meta.url)));
const file = set.file[0] as (typeof set.file)[number];

/** The file descriptor of the fixture as data, to make variants of. */
export const fileProto = file;

/** Compiles a variant of the fixture's file descriptor. */
export function compile(proto: typeof file) {
  return createFileRegistry(proto, (name) => imports.find((candidate) => candidate.proto.name === name));
}

const files = compile(file);

/** Everything a google.protobuf.Any in a test may hold. */
export const registry = createRegistry(...files.files, ...imports, file_google_rpc_error_details);

/** The service `library.v1.Library`. */
export const library = files.getService("library.v1.Library") as DescService;

/** A message type of the fixture. */
export function desc(name: string): DescMessage {
  const found = files.getMessage(`library.v1.${name}`);
  if (found === undefined) throw new Error(`no message ${name}`);
  return found;
}

/** A message object whose properties a test may read and write. */
// biome-ignore lint/suspicious/noExplicitAny: the types of the fixture are known only at run time
export type Any = any;

/** Makes a message of the fixture. */
export function create(name: string, init: object = {}): Message & Any {
  return libraryCreate(desc(name), init as never);
}

/** The service with one method alone, bound by the given rules. */
export function libraryWith(methodName: string, ...rules: object[]): DescService {
  const proto = clone(FileDescriptorProtoSchema, fileProto);
  const service = proto.service[0]!;
  service.method = service.method
    .filter(({ name }) => name === methodName)
    .flatMap((method) =>
      rules.map((rule, index) => {
        const options = libraryCreate(MethodOptionsSchema);
        setExtension(options, http, libraryCreate(HttpRuleSchema, rule as never));
        const bytes = toBinary(MethodOptionsSchema, options);
        return {
          ...method,
          name: index === 0 ? methodName : `${methodName}${index}`,
          options: fromBinary(MethodOptionsSchema, bytes),
        };
      }),
    );
  return compile(proto).getService("library.v1.Library")!;
}

/** A rule for GET. */
export const get = (path: string, more: object = {}) => ({ pattern: { case: "get", value: path }, ...more });
/** A rule for any HTTP method. */
export const custom = (kind: string, path: string) => ({ pattern: { case: "custom", value: { kind, path } } });
/** A rule for POST. */
export const post = (path: string, more: object = {}) => ({ pattern: { case: "post", value: path }, ...more });
