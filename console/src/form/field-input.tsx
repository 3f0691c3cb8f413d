import { type DescField, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import {
  Checkbox,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Select,
  TagsInput,
  Textarea,
  TextInput,
} from "@mantine/core";
import { Comment } from "../comment.tsx";
import { behaves, FieldBehavior, referenceType, title } from "../contract.ts";
import { enumLabel } from "../enum-label.ts";
import { localTime } from "../time.tsx";
import { isSecret } from "./drafts.ts";
import type { InputProps } from "./input-props.ts";
import { JsonField } from "./json-field.tsx";
import { ReferenceInput } from "./reference-input.tsx";

interface FieldInputProps {
  readonly field: DescField;
  /** In the JSON form of protobuf. */
  readonly value: JsonValue | undefined;
  onChange(value: JsonValue | undefined): void;
  readonly problem: string | undefined;
  readonly isDisabled: boolean;
}

/** The input of a field, by its type. */
export function FieldInput({ field, value, onChange, problem, isDisabled }: FieldInputProps) {
  const props: InputProps = {
    label: title(field.name),
    description: <Comment field={field} />,
    error: problem,
    disabled: isDisabled,
    withAsterisk: behaves(field, FieldBehavior.REQUIRED),
  };
  const setText = (text: string | null) => onChange(text === "" || text === null ? undefined : text);
  const text = value === undefined ? "" : String(value);
  const clear = { clearable: true, clearButtonProps: { "aria-label": `Clear ${props.label}` } };

  if (field.fieldKind === "map") return <JsonField {...props} value={value} onChange={onChange} />;
  if (field.fieldKind === "list") {
    const setList = (list: JsonValue[]) => onChange(list.length === 0 ? undefined : list);
    const list = ((value as JsonValue[] | undefined) ?? []).map(String);
    if (field.listKind === "enum")
      return <MultiSelect {...props} {...clear} searchable data={optionsOf(field)} value={list} onChange={setList} />;
    if (field.listKind === "scalar") return <TagsInput {...props} {...clear} value={list} onChange={setList} />;
    return <JsonField {...props} value={value} onChange={onChange} />;
  }
  if (field.fieldKind === "enum")
    return (
      <Select
        {...props}
        {...clear}
        searchable
        data={optionsOf(field)}
        value={value === undefined ? null : text}
        onChange={setText}
      />
    );
  const reference = referenceType(field);
  if (reference !== undefined) return <ReferenceInput {...props} type={reference} value={text} onChange={setText} />;
  switch (field.message?.typeName ?? field.scalar) {
    case ScalarType.BOOL: {
      const { withAsterisk: _, ...others } = props;
      return (
        <Checkbox
          {...others}
          checked={value === true}
          onChange={({ currentTarget }) => onChange(currentTarget.checked || undefined)}
        />
      );
    }
    case ScalarType.STRING:
    case ScalarType.BYTES:
    case ScalarType.INT64:
    case ScalarType.UINT64:
      if (isSecret(field))
        return (
          <PasswordInput
            {...props}
            autoComplete="new-password"
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
        );
      return text.includes("\n") ? (
        <Textarea
          {...props}
          autosize
          maxRows={20}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
      ) : (
        <TextInput {...props} value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} />
      );
    case "google.protobuf.Timestamp":
      return (
        <TextInput
          {...props}
          type="datetime-local"
          value={value === undefined ? "" : localTime(text)}
          onChange={({ currentTarget: { value: local } }) =>
            onChange(local === "" ? undefined : new Date(local).toISOString())
          }
        />
      );
    case "google.protobuf.Duration":
      return (
        <NumberInput
          {...props}
          suffix=" seconds"
          min={0}
          value={value === undefined ? "" : Number.parseFloat(text)}
          onChange={(seconds) => onChange(seconds === "" ? undefined : `${seconds}s`)}
        />
      );
    default:
      if (field.message !== undefined) return <JsonField {...props} value={value} onChange={onChange} />;
      return (
        <NumberInput
          {...props}
          value={value === undefined ? "" : Number(value)}
          onChange={(number) => onChange(number === "" ? undefined : Number(number))}
        />
      );
  }
}

/** The values of an enum, without the unspecified one. */
function optionsOf({ enum: type }: DescField) {
  return type!.values
    .filter(({ number }) => number !== 0)
    .map(({ name }) => ({ value: name, label: enumLabel(type!, name) }));
}
