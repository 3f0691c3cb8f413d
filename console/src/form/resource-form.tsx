import type { DescField, DescMethod, JsonObject } from "@bufbuild/protobuf";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { type FormEvent, useMemo, useRef, useState } from "react";
import { PlatformError } from "../../../src/client/index.ts";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { singularOf } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { type Draft, type EditedDraft, keepDraft, readDraft, removeDraft, withoutSecrets } from "./drafts.ts";
import { useFailure } from "./failure.ts";
import { MessageFields } from "./message-fields.tsx";
import { missingFields, useRules } from "./rules.ts";

interface ResourceFormProps {
  readonly entry: ResourceEntry;
  readonly method: DescMethod;
  readonly initial: Draft;
  /** Whether the resource exists already. */
  readonly isUpdate?: boolean;
  readonly action: string;
  /** Sends the draft, and returns what to do then. Errors: those of a call. */
  send(draft: Draft): Promise<() => void>;
  /** Shows the draft as if it were saved, before the server has answered. Returns what takes that back. */
  preview?(draft: Draft): (reason: Error) => void;
  cancel(): void;
}

/** The field of a request that holds the resource. */
export function resourceField({ input }: DescMethod, { schema }: ResourceEntry): DescField {
  return input.fields.find(({ message }) => message?.typeName === schema.typeName)!;
}

/**
 * A form for a resource, and for what else its request has. What somebody has typed at this address before a reload is
 * restored.
 */
export function ResourceForm(props: ResourceFormProps) {
  const [address] = useState(() => location.pathname + location.search);
  const [restored, setRestored] = useState(() => readDraft(address));
  const failure = useFailure([address]);
  const discard = () => {
    failure.forget();
    removeDraft(address);
    setRestored(undefined);
  };
  return (
    <>
      {restored !== undefined && (
        <Alert role="status" variant="default" mb="md" maw={720} title="Restored what you typed">
          <Group justify="space-between">
            <Text size="sm">It is not saved yet. Secrets are not kept.</Text>
            <Button size="xs" variant="default" onClick={discard}>
              Discard
            </Button>
          </Group>
        </Alert>
      )}
      <Form
        key={restored === undefined ? "initial" : "restored"}
        address={address}
        start={restored ?? { draft: props.initial, edited: [] }}
        {...props}
      />
    </>
  );
}

type FormProps = ResourceFormProps & { readonly address: string; readonly start: EditedDraft };

function Form({ entry, method, address, start, isUpdate = false, action, send, preview, cancel }: FormProps) {
  const [draft, setDraft] = useState(start.draft);
  const [edited, setEdited] = useState<ReadonlySet<string>>(new Set(start.edited));
  const [isChecked, setChecked] = useState(false);
  const isLeaving = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  const fields = method.input.fields.filter(
    (field) => field !== resourceField(method, entry) && field.name !== "update_mask",
  );
  const rules = useRules(entry.schema, draft.resource);
  const withoutItsSecrets = ({ request, resource }: Draft) => ({
    request: withoutSecrets(fields, request),
    resource: withoutSecrets(entry.schema.fields, resource),
  });
  const isUnsaved = () => edited.size > 0 && !isLeaving.current;
  const hasSecrets = () => JSON.stringify(withoutItsSecrets(draft)) !== JSON.stringify(draft);
  const mutationKey = [address];
  const failure = useFailure(mutationKey);
  const { error } = failure;
  const { mutate, isPending } = useMutation({
    mutationKey,
    mutationFn: send,
    onMutate(sent) {
      if (preview === undefined || hasSecrets()) return undefined; // secrets would have to be typed again
      isLeaving.current = true;
      return preview(sent);
    },
    onSuccess(proceed) {
      isLeaving.current = true;
      removeDraft(address);
      proceed();
    },
    onError: (reason, _sent, takeBack) => takeBack?.(reason),
  });
  useBlocker({
    shouldBlockFn() {
      if (isLeaving.current) return false;
      if (isUnsaved() && !confirm("Leave this page? Your changes are not saved.")) return true;
      removeDraft(address);
      failure.forget();
      return false;
    },
    // A reload loses nothing but secrets.
    enableBeforeUnload: () => isUnsaved() && hasSecrets(),
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
    const all = new Set([...edited, ...changed]);
    setEdited(all);
    setDraft(next);
    keepDraft(address, { draft: withoutItsSecrets(next), edited: [...all] });
    failure.forget();
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
