/**
 * What has been typed into forms and not been saved. It is in sessionStorage, by address, so that a reload or a sign-in
 * loses nothing. Secrets are not stored.
 */
import type { DescField, JsonObject, JsonValue } from "@bufbuild/protobuf";

/** What a form sends. */
export interface Draft {
  /** The fields of the request beside the resource, in JSON. */
  readonly request: JsonObject;
  /** The resource, in JSON. */
  readonly resource: JsonObject;
}

/** A draft with the proto names of the fields that somebody has changed. */
export interface EditedDraft {
  readonly draft: Draft;
  readonly edited: readonly string[];
}

const prefix = "platform.draft ";

export function keepDraft(address: string, draft: EditedDraft): void {
  try {
    sessionStorage.setItem(prefix + address, JSON.stringify(draft));
  } catch {
    // It is larger than what the browser stores for a page.
  }
}

export function readDraft(address: string): EditedDraft | undefined {
  const text = sessionStorage.getItem(prefix + address);
  return text === null ? undefined : JSON.parse(text);
}

export function removeDraft(address: string): void {
  sessionStorage.removeItem(prefix + address);
}

/** Whether a field holds a secret. */
export function isSecret(field: DescField): boolean {
  return field.proto.options?.debugRedact === true;
}

/** A message in JSON without its secrets, also those of the messages in it. Equal to the message if it has none. */
export function withoutSecrets(fields: readonly DescField[], value: JsonObject): JsonObject {
  const kept = Object.entries(value).flatMap(([name, own]): [string, JsonValue][] => {
    const field = fields.find(({ jsonName }) => jsonName === name);
    if (field === undefined || isSecret(field)) return [];
    const inner = field.fieldKind === "map" ? undefined : field.message?.fields;
    const copy = (item: JsonValue) =>
      inner !== undefined && typeof item === "object" && item !== null && !Array.isArray(item)
        ? withoutSecrets(inner, item)
        : item;
    return [[name, Array.isArray(own) ? own.map(copy) : copy(own)]];
  });
  return Object.fromEntries(kept);
}
