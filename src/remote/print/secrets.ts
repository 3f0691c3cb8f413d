/** The secrets in what a server answers: fields marked `debug_redact`. Most are answered only once. */
import { clearField, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { fieldValue, messagesIn } from "./cells.ts";

/** A secret of a message. */
export interface Secret {
  /** In proto names: `signing_secret`, `subscription.signing_secret`. */
  readonly path: string;
  readonly value: string;
}

/** Whether the values of a field are secret. */
export function isSecret(field: DescField): boolean {
  return field.proto.options?.debugRedact === true;
}

/** The secrets that a message has, also in the messages in it. */
export function secretsOf(schema: DescMessage, message: Message): Secret[] {
  return schema.fields.flatMap((field) => {
    if (isSecret(field) && field.scalar === ScalarType.STRING) {
      const value = fieldValue(field, message);
      return value ? [{ path: field.name, value: String(value) }] : [];
    }
    return messagesIn(field, message).flatMap((inner) =>
      secretsOf(field.message!, inner).map((secret) => ({ ...secret, path: `${field.name}.${secret.path}` })),
    );
  });
}

/** Removes the secrets of a message itself, which a server makes up for a call that it only checks. */
export function clearSecrets(schema: DescMessage, message: Message): void {
  for (const field of schema.fields.filter(isSecret)) clearField(message, field);
}
