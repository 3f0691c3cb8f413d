import type { DescField, DescMethod, JsonObject } from "@bufbuild/protobuf";
import { Alert, Button, Group, Stack } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { type FormEvent, useMemo, useRef, useState } from "react";
import { PlatformError } from "../../../src/client/index.ts";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { singularOf } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { MessageFields } from "./message-fields.tsx";
import { missingFields, useRules } from "./rules.ts";

/** What a form sends. */
export interface Draft {
  /** The fields of the request beside the resource, in JSON. */
  readonly request: JsonObject;
  /** The resource, in JSON. */
  readonly resource: JsonObject;
}

interface ResourceFormProps {
  readonly entry: ResourceEntry;
  readonly method: DescMethod;
  readonly initial: Draft;
  /** Whether the resource exists already. */
  readonly isUpdate?: boolean;
  readonly action: string;
  /** Sends the draft, and returns what to do then. Errors: those of a call. */
  send(draft: Draft): Promise<() => void>;
  cancel(): void;
}

/** The field of a request that holds the resource. */
export function resourceField({ input }: DescMethod, { schema }: ResourceEntry): DescField {
  return input.fields.find(({ message }) => message?.typeName === schema.typeName)!;
}

/** A form for a resource, and for what else its request has. */
export function ResourceForm({ entry, method, initial, isUpdate = false, action, send, cancel }: ResourceFormProps) {
  const [draft, setDraft] = useState(initial);
  const [edited, setEdited] = useState<ReadonlySet<string>>(new Set());
  const [isChecked, setChecked] = useState(false);
  const isSaved = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  const fields = method.input.fields.filter(
    (field) => field !== resourceField(method, entry) && field.name !== "update_mask",
  );
  const rules = useRules(entry.schema, draft.resource);
  const { mutate, error, isPending, reset } = useMutation({
    mutationFn: send,
    onSuccess(proceed) {
      isSaved.current = true;
      proceed();
    },
  });
  useBlocker({
    shouldBlockFn: () =>
      edited.size > 0 && !isSaved.current && !confirm("Leave this page? Your changes are not saved."),
    enableBeforeUnload: () => edited.size > 0 && !isSaved.current,
  });

  const missing = new Map([
    ...missingFields(fields, draft.request),
    ...missingFields(entry.schema.fields, draft.resource),
  ]);
  const refused = useMemo(
    () => new Map(error instanceof PlatformError ? error.violations.map((it) => [it.field, it.description]) : []),
    [error],
  );
  const local = new Map([...rules, ...missing]);
  const shown = [...local].filter(([path]) => isChecked || edited.has(path.split(/[.[]/)[0]!));
  const problems = new Map([...refused, ...shown]);

  const change = (next: Draft) => {
    const changed = [
      ...changedFields(entry.schema.fields, draft.resource, next.resource),
      ...changedFields(fields, draft.request, next.request),
    ];
    setEdited(new Set([...edited, ...changed]));
    setDraft(next);
    if (error !== null) reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (local.size === 0) mutate(draft);
    else setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
  };
  const unplaced = [...problems].filter(([path]) => path === "");
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack maw={720}>
        <MessageFields
          fields={fields}
          value={draft.request}
          onChange={(request) => change({ ...draft, request })}
          problems={problems}
        />
        <MessageFields
          fields={entry.schema.fields}
          value={draft.resource}
          onChange={(resource) => change({ ...draft, resource })}
          problems={problems}
          isUpdate={isUpdate}
        />
        {unplaced.length > 0 && <Alert color="red">{unplaced.map(([, text]) => text).join("; ")}</Alert>}
        {error !== null && <ErrorPanel error={error} />}
        <Group>
          <Button type="submit" loading={isPending}>
            {action}
          </Button>
          <Button variant="default" onClick={cancel}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The proto names of the fields that two messages in JSON differ in. */
export function changedFields(fields: readonly DescField[], before: JsonObject, after: JsonObject): string[] {
  return fields
    .filter(({ jsonName }) => JSON.stringify(before[jsonName]) !== JSON.stringify(after[jsonName]))
    .map(({ name }) => name);
}

/** `a repo`, `an identity`. */
export function withArticle(entry: ResourceEntry): string {
  const noun = singularOf(entry);
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}
