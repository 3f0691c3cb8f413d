/** Unary methods as the fast lane serves them: by path, with everything that reads and writes their messages compiled ahead. */
import type { DescMethodUnary, DescService, Message, Registry } from "@bufbuild/protobuf";
import {
  createBinaryReader,
  createBinaryWriter,
  createJsonReader,
  createJsonWriter,
  parseJson,
  Violations,
} from "../codec/index.ts";

/** One method. Whatever a reader throws, the full door reads the bytes again and says what is wrong with them. */
export interface UnaryMethod {
  readonly method: DescMethodUnary;
  readBinary(bytes: Uint8Array): Message;
  /** @param headroom bytes left free in front. */
  writeBinary(message: Message, headroom?: number): Uint8Array;
  readJson(bytes: Uint8Array): Message;
  writeJson(message: Message): string;
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
  const read = createJsonReader(input, { registry, ignoreUnknownFields: true });
  return {
    method,
    readBinary: createBinaryReader(input),
    writeBinary: createBinaryWriter(output),
    readJson(bytes) {
      const violations = new Violations();
      const message = read(parseJson(bytes), violations);
      if (violations.list.length > 0) throw new Error("not a message");
      return message;
    },
    writeJson: createJsonWriter(output, { registry }),
  };
}
