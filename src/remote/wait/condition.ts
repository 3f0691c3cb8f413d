/** What a command waits for. */
import type { DescField, JsonObject, JsonValue, Message } from "@bufbuild/protobuf";
import { CommandFailure } from "../../command/index.ts";
import { shortName } from "../catalog/enums.ts";
import { fieldsOfPairs, findField } from "../catalog/flags.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import type { Resource } from "../documents/requests.ts";
import { messageOf } from "../documents/spec.ts";
import { jsonOf } from "../print/print.ts";

/** A condition of one resource. */
export interface Condition {
  /** Whether it is about a resource that there may not be. Otherwise that is a failure. */
  readonly mayBeMissing: boolean;
  /** Whether it holds. @param resource undefined if there is none. */
  isMet(resource: Resource | undefined): boolean;
  /** `exists`, `catalog_tier is base`: the resource as it is, after its name. */
  describe(resource: Resource | undefined): string;
}

const existence: Condition = {
  mayBeMissing: true,
  isMet: (resource) => resource !== undefined,
  describe: (resource) => (resource === undefined ? "does not exist" : "exists"),
};

const absence: Condition = {
  ...existence,
  isMet: (resource) => resource === undefined,
  describe: (resource) => (resource === undefined ? "is deleted" : "exists"),
};

/** Reads `exists`, `deleted` or `FIELD=VALUE`. Errors: CommandFailure if the resource has no such field or value. */
export function readCondition({ schema }: ResourceEntry, text: string): Condition {
  if (text === "exists") return existence;
  if (text === "deleted") return absence;
  if (!text.includes("="))
    throw new CommandFailure(`--for must be exists, deleted or FIELD=VALUE, not ${JSON.stringify(text)}`, 2);
  const message = messageOf(schema, fieldsOfPairs(schema, [text], "--for"));
  const name = text.slice(0, text.indexOf("="));
  const { field, path } = findField(schema, name, "--for");
  const valueIn = (it: Message): JsonValue | undefined =>
    path.reduce<JsonValue | undefined>((value, name) => (value as JsonObject | undefined)?.[name], jsonOf(schema, it));
  const wanted = JSON.stringify(valueIn(message));
  return {
    mayBeMissing: false,
    isMet: (resource) => resource !== undefined && JSON.stringify(valueIn(resource)) === wanted,
    describe: (resource) => `${name} is ${valueText(field, resource && valueIn(resource))}`,
  };
}

function valueText(field: DescField, value: JsonValue | undefined): string {
  if (value === undefined) return "not set";
  return field.fieldKind === "enum" ? shortName(field.enum, String(value)) : JSON.stringify(value);
}
