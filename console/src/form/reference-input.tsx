import type { JsonObject } from "@bufbuild/protobuf";
import { Select, Skeleton, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { type ComponentType, lazy, Suspense, useState } from "react";
import { isUid } from "../../../src/uid.ts";
import { nameField, useContract } from "../contract.ts";
import { shortUid } from "../copy.tsx";
import { itemsOf, useCall, useName, useNameSearch } from "../queries.ts";
import type { InputProps } from "./input-props.ts";

interface ReferenceInputProps extends Partial<InputProps> {
  readonly label: string;
  /** Its width in pixels; that of its container if absent. */
  readonly w?: number;
  /** The type of the resource. */
  readonly type: string;
  /** A uid; "" for none. */
  readonly value: string;
  onChange(uid: string | null): void;
}

/** What is shown of a chosen resource, by its type. */
const notes: Readonly<Record<string, ComponentType<{ readonly uid: string }>>> = {
  "iam.platform.internal/Role": lazy(() => import("../access/role-capabilities.tsx")),
};

/** Chooses a resource by its name. A pasted uid is taken as well. */
export function ReferenceInput({ type, value, onChange, ...props }: ReferenceInputProps) {
  const entry = useContract().byType.get(type);
  const list = entry?.methods.List;
  const name = entry && nameField(entry);
  const isListed = list !== undefined && name !== undefined && list.input.field.uidp !== undefined;
  const [text, setText] = useState("");
  const [searched] = useDebouncedValue(text.trim(), 200);
  const chosenName = useName(type, value);
  const first = useCall(list, { pageSize: 200 }, isListed);
  const { found, isLoading } = useNameSearch(isListed ? searched : "", entry);
  if (!isListed)
    return <TextInput {...props} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)} />;

  const labels = new Map<string, string>();
  const add = (item: JsonObject) =>
    labels.set(String(item.uid), `${item[name.jsonName] ?? ""} (${shortUid(String(item.uid))})`);
  for (const item of [...itemsOf(entry!, first.data), ...found.map(({ resource }) => resource)]) add(item);
  for (const uid of [value, searched])
    if (isUid(uid) && !labels.has(uid))
      labels.set(uid, `${(uid === value ? chosenName : undefined) ?? "uid"} (${shortUid(uid)})`);
  const Note = notes[type];
  return (
    <>
      <Select
        {...props}
        searchable
        clearable
        clearButtonProps={{ "aria-label": `Clear ${props.label}` }}
        placeholder="Choose by name, or paste a uid"
        nothingFoundMessage={isLoading || searched !== text.trim() ? "Searching…" : "Nothing has this name"}
        limit={200}
        data={[...labels].map(([uid, label]) => ({ value: uid, label }))}
        filter={({ options, search: text }) =>
          (options as { value: string; label: string }[]).filter(
            (option) => option.value === text.trim() || option.label.toLowerCase().includes(text.trim().toLowerCase()),
          )
        }
        value={value === "" ? null : value}
        onChange={onChange}
        onSearchChange={setText}
      />
      {Note && value !== "" && (
        <Suspense fallback={<Skeleton height={60} />}>
          <Note uid={value} />
        </Suspense>
      )}
    </>
  );
}
