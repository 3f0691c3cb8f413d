/** Unary methods by path, with compiled codecs for their messages. All protocols but REST decode requests with them. */
import type { DescMethodUnary, DescService, Message, Registry } from "@bufbuild/protobuf";
import {
  createBinaryReader,
  createBinaryWriter,
  createJsonReader,
  createJsonWriter,
  JsonSyntaxError,
  maxRequestFields,
  parseJson,
  type StoredMessage,
  Violations,
  WireFormatError,
} from "../../codec/index.ts";
import { invalid } from "../../errors.ts";

/** A method and its codecs. Errors of the readers: INVALID_ARGUMENT. */
export interface UnaryMethod {
  readonly method: DescMethodUnary;
  readBinary(bytes: Uint8Array): Message;
  /** @param headroom bytes left free before the message. */
  writeBinary(message: Message | StoredMessage, headroom?: number): Uint8Array;
  readJson(bytes: Uint8Array): Message;
  writeJson(message: Message | StoredMessage): string;
}

/** The unary methods of services, by path: `/platform.ping.v2.PingService/Ping`. */
export function unaryMethods(services: Iterable<DescService>, registry: Registry): ReadonlyMap<string, UnaryMethod> {
  const methods = new Map<string, UnaryMethod>();
  for (const service of services) {
    for (const method of service.methods) {
      if (method.methodKind === "unary")
        methods.set(`/${service.typeName}/${method.name}`, unaryMethod(method as DescMethodUnary, registry));
    }
  }
  return methods;
}

function unaryMethod(method: DescMethodUnary, registry: Registry): UnaryMethod {
  const { input, output } = method;
  const readBinary = createBinaryReader(input, maxRequestFields);
  const readJson = createJsonReader(input, { registry, ignoreUnknownFields: true });
  return {
    method,
    readBinary: (bytes) => wellFormed(() => readBinary(bytes)),
    writeBinary: createBinaryWriter(output),
    readJson(bytes) {
      const violations = new Violations();
      const message = readJson(
        wellFormed(() => parseJson(bytes)),
        violations,
      );
      if (violations.list.length > 0) throw invalid(violations.list);
      return message;
    },
    writeJson: createJsonWriter(output, { registry }),
  };
}

function wellFormed<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw invalid({ field: "", description: `malformed JSON: ${error.message}` });
    if (error instanceof WireFormatError)
      throw invalid({ field: "", description: `malformed protobuf message: ${error.message}` });
    throw error;
  }
}
