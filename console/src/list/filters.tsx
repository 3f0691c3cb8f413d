import type { DescField, JsonObject } from "@bufbuild/protobuf";
import { Button, Drawer, Group, Pill, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, useState } from "react";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { title } from "../contract.ts";
import { MessageFields } from "../form/message-fields.tsx";
import { isEmpty } from "../value.tsx";
import { pagingFields } from "./search.ts";

interface FiltersProps {
  readonly entry: ResourceEntry;
  /** Fields of the request that filter, in JSON. */
  readonly filter: JsonObject;
  /** Fields that the server needs, and that are not given. */
  readonly missing: readonly DescField[];
  apply(filter: JsonObject): void;
}

/** The filters of a list: those that are set, and a form with the fields of the request. */
export function Filters({ entry, filter, missing, apply }: FiltersProps) {
  const { input } = entry.methods.List!;
  const fields = input.fields.filter(({ name }) => !pagingFields.has(name));
  const [isOpen, { open, close }] = useDisclosure(false);
  const [draft, setDraft] = useState(filter);
  if (fields.length === 0) return null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    close();
    apply(Object.fromEntries(Object.entries(draft).filter(([, value]) => !isEmpty(value) && value !== false)));
  };
  return (
    <Group gap="xs">
      <Button variant={missing.length > 0 ? "filled" : "default"} size="compact-sm" onClick={open}>
        Filter
      </Button>
      {Object.entries(filter).map(([name, value]) => (
        <Pill
          key={name}
          withRemoveButton
          removeButtonProps={{ "aria-label": `Remove the filter ${title(name)}`, "aria-hidden": false, tabIndex: 0 }}
          onRemove={() => apply(Object.fromEntries(Object.entries(filter).filter(([other]) => other !== name)))}
        >
          {title(name)}: {typeof value === "string" ? value : JSON.stringify(value)}
        </Pill>
      ))}
      <Drawer opened={isOpen} onClose={close} position="right" title={`Filter ${title(entry.plural).toLowerCase()}`}>
        <form onSubmit={submit}>
          <Stack>
            <MessageFields fields={fields} value={draft} onChange={setDraft} />
            <Button type="submit">Apply</Button>
          </Stack>
        </form>
      </Drawer>
    </Group>
  );
}
