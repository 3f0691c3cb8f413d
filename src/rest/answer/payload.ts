/** The body of a response: the message or one of its fields, as JSON, protobuf or, for google.api.HttpBody, raw. */
import type { DescMessage, Message, Registry } from "@bufbuild/protobuf";
import {
  createJsonFieldWriter,
  createJsonWriter,
  getField,
  type JsonFormat,
  type Local,
  type StoredMessage,
  wholeMessage,
} from "../../codec/index.ts";
import type { Binding } from "../binding.ts";
import { isHttpBody } from "../request/body.ts";

/** Returns the body for a response message. */
export type PayloadWriter =
  | { readonly kind: "json"; write(message: Message | StoredMessage): string }
  | { readonly kind: "protobuf"; write(message: Message | StoredMessage): Uint8Array }
  | {
      readonly kind: "raw";
      write(message: Message | StoredMessage): { readonly contentType: string; readonly data: Uint8Array };
    };

/** That of a stream. */
export type StreamPayload = Exclude<PayloadWriter, { kind: "protobuf" }>;

/** Options of a payload writer. */
interface PayloadOptions {
  readonly registry: Registry;
  readonly json?: JsonFormat | undefined;
}

/** The payload writer of a binding, for JSON or google.api.HttpBody. */
export function createPayloadWriter(binding: Binding, options: PayloadOptions): StreamPayload {
  const { responseBody: field, method } = binding;
  const desc: DescMessage | undefined =
    field === undefined ? method.output : field.fieldKind === "message" ? field.message : undefined;
  if (desc !== undefined && isHttpBody(desc)) {
    return {
      kind: "raw",
      write(message) {
        const body = (field === undefined ? wholeMessage(message) : getField(wholeMessage(message), field)) as
          | Local
          | undefined;
        return {
          contentType: (body?.contentType as string | undefined) ?? "",
          data: (body?.data as Uint8Array | undefined) ?? new Uint8Array(),
        };
      },
    };
  }
  const { registry, json: format = {} } = options;
  const write =
    field === undefined
      ? createJsonWriter(method.output, { registry, format })
      : createJsonFieldWriter(field, { registry, format });
  return { kind: "json", write };
}
