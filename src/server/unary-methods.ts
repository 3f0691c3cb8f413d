/** Unary methods as the fast lane serves them: by path, with everything that reads and writes their messages compiled ahead. */
import {
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type Message,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { createJsonReader, createJsonWriter, parseJson, Violations } from "../codec/index.ts";

/** One method. Whatever a reader throws, the full door reads the bytes again and says what is wrong with them. */
export interface UnaryMethod {
  readonly method: DescMethodUnary;
  readBinary(bytes: Uint8Array): Message;
  writeBinary(message: Message): Uint8Array;
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
    readBinary: (bytes) => fromBinary(input, bytes),
    writeBinary: (message) => toBinary(output, message),
    readJson(bytes) {
      const violations = new Violations();
      const message = read(parseJson(bytes), violations);
      if (violations.list.length > 0) throw new Error("not a message");
      return message;
    },
    writeJson: createJsonWriter(output, { registry }),
  };
}
