import type { DescField, DescOneof, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Button, Fieldset, Select, Stack } from "@mantine/core";
import { useId, useState } from "react";
import { behaves, FieldBehavior, title } from "../contract.ts";
import { isComposite } from "../value.tsx";
import { FieldInput } from "./field-input.tsx";

/** What is wrong with fields, by their paths in proto names: `claim_match.subject`. */
export type Problems = ReadonlyMap<string, string>;

interface MessageFieldsProps {
  readonly fields: readonly DescField[];
  /** The message in JSON. */
  readonly value: JsonObject;
  onChange(value: JsonObject): void;
  /** The path of the message and a dot; "" for the whole. */
  readonly path?: string;
  readonly problems?: Problems;
  /** Whether the message exists already, so that some fields cannot be changed. */
  readonly isUpdate?: boolean;
}

/** An input for each field that a caller may set. */
export function MessageFields(props: MessageFieldsProps) {
  const settable = props.fields.filter(isSettable);
  const oneofs = new Set(settable.flatMap(({ oneof }) => oneof ?? []));
  return (
    <>
      {settable
        .filter(({ oneof }) => oneof === undefined)
        .map((field) => (
          <Field key={field.name} field={field} {...props} />
        ))}
      {[...oneofs].map((oneof) => (
        <Oneof key={oneof.name} oneof={oneof} {...props} />
      ))}
    </>
  );
}

/** Whether callers set a field. An etag comes from what is changed. */
function isSettable(field: DescField): boolean {
  return (
    !behaves(field, FieldBehavior.OUTPUT_ONLY) &&
    !behaves(field, FieldBehavior.IDENTIFIER) &&
    !["etag", "validate_only"].includes(field.name)
  );
}

type FieldProps = MessageFieldsProps & { readonly field: DescField };

function Field({ field, value, onChange, path = "", problems, isUpdate = false }: FieldProps) {
  const own = value[field.jsonName];
  const ownPath = `${path}${field.name}`;
  const set = (next: JsonValue | undefined) => {
    const { [field.jsonName]: _before, ...others } = value;
    onChange(next === undefined ? others : { ...others, [field.jsonName]: next });
  };
  const nested = { problems: problems ?? new Map(), isUpdate };
  if (field.fieldKind === "message" && isComposite(field))
    return (
      <Fieldset legend={title(field.name)}>
        <Stack gap="sm">
          <MessageFields
            {...nested}
            fields={field.message.fields}
            value={(own as JsonObject | undefined) ?? {}}
            onChange={(next) => set(Object.keys(next).length === 0 ? undefined : next)}
            path={`${ownPath}.`}
          />
        </Stack>
      </Fieldset>
    );
  if (field.fieldKind === "list" && isComposite(field))
    return (
      <Messages
        {...nested}
        field={field}
        items={(own as JsonObject[] | undefined) ?? []}
        onChange={set}
        path={ownPath}
      />
    );
  const isLocked = isUpdate && behaves(field, FieldBehavior.IMMUTABLE);
  return <FieldInput field={field} value={own} onChange={set} problem={problems?.get(ownPath)} isDisabled={isLocked} />;
}

interface MessagesProps {
  readonly field: DescField;
  readonly items: readonly JsonObject[];
  onChange(items: JsonObject[] | undefined): void;
  readonly path: string;
  readonly problems: Problems;
  readonly isUpdate: boolean;
}

/** The messages of a list. */
function Messages({ field, items, onChange, path, ...nested }: MessagesProps) {
  const name = title(field.name);
  return (
    <Fieldset legend={name}>
      <Stack gap="sm" align="stretch">
        {items.map((item, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages of a list have no other key
          <Fieldset key={i} legend={String(i + 1)}>
            <Stack gap="sm">
              <MessageFields
                {...nested}
                fields={field.message!.fields}
                value={item}
                onChange={(next) => onChange(items.with(i, next))}
                path={`${path}[${i}].`}
              />
              <Button
                variant="default"
                size="xs"
                aria-label={`Remove ${name} ${i + 1}`}
                onClick={() => onChange(items.toSpliced(i, 1))}
              >
                Remove
              </Button>
            </Stack>
          </Fieldset>
        ))}
        <Button
          variant="default"
          size="xs"
          onClick={() => onChange([...items, {}])}
        >{`Add to ${name.toLowerCase()}`}</Button>
      </Stack>
    </Fieldset>
  );
}

/** Fields of which one at most is set. */
function Oneof({ oneof, ...props }: MessageFieldsProps & { readonly oneof: DescOneof }) {
  const { value, onChange } = props;
  const members = oneof.fields.filter(isSettable);
  const present = members.find(({ jsonName }) => value[jsonName] !== undefined);
  const [chosen, setChosen] = useState(present?.name ?? null);
  const id = useId();
  const choose = (name: string | null) => {
    setChosen(name);
    onChange(Object.fromEntries(Object.entries(value).filter(([key]) => !members.some((it) => it.jsonName === key))));
  };
  const field = members.find(({ name }) => name === chosen);
  return (
    <>
      <Select
        id={id}
        label={title(oneof.name)}
        description="Choose at most one"
        clearable
        clearButtonProps={{ "aria-label": `Clear ${title(oneof.name)}` }}
        data={members.map(({ name }) => ({ value: name, label: title(name) }))}
        value={chosen}
        onChange={choose}
        error={props.problems?.get(`${props.path ?? ""}${members[0]?.name}`)}
      />
      {field && <Field {...props} field={field} />}
    </>
  );
}
