/** The columns of a list. */
import type { DescField } from "@bufbuild/protobuf";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { nameField, referenceType } from "../contract.ts";
import { isComposite } from "../value.tsx";

/** Fields that are shown only on demand. */
const rarelyRead: ReadonlySet<string> = new Set(["uid", "etag", "description", "details", "create_time"]);
const maxColumns = 5;

/** The columns of a list for which none have been chosen. */
export function defaultColumns(entry: ResourceEntry): readonly DescField[] {
  const name = nameField(entry);
  const { fields, field } = entry.schema;
  const hasReference = fields.some((it) => referenceType(it) !== undefined);
  const others = fields.filter(
    (it) =>
      it !== name &&
      it !== field.updateTime &&
      !rarelyRead.has(it.name) &&
      (!isComposite(it) || (name === undefined && !hasReference)) &&
      it.fieldKind !== "map",
  );
  const chosen = [name ?? field.uid, ...others.slice(0, maxColumns - 2), field.updateTime];
  return chosen.filter((it) => it !== undefined);
}
