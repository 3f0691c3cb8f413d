import { type DescEnum, type DescField, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { Badge, Code, Group, Text } from "@mantine/core";
import { SeverestBadge, SeverityBadge } from "./advisory/severity.tsx";
import { referenceType, title } from "./contract.ts";
import { Uid } from "./copy.tsx";
import { enumLabel } from "./enum-label.ts";
import { Reference } from "./links.tsx";
import { Time } from "./time.tsx";

interface ValueProps {
  readonly field: DescField;
  /** In the JSON form of protobuf. */
  readonly value: JsonValue | undefined;
  /** Whether it must fit into a line. */
  readonly isShort?: boolean;
}

/** The most values of a list that fit into a line. */
const maxShort = 3;

/** The value of a field, as people read it. */
export function Value({ field, value, isShort = false }: ValueProps) {
  if (isEmpty(value)) return <Text span c="dimmed" size="sm" aria-label="not set">{`–`}</Text>;
  if (field.fieldKind === "list") {
    if (isSeverity(field) && isShort) return <SeverestBadge severities={value} />;
    const all = value as JsonValue[];
    const shown = isShort ? all.slice(0, maxShort) : all;
    if (field.listKind === "message" && isShort)
      return (
        <Text span size="sm">
          {counted(all.length)}
        </Text>
      );
    return (
      <Group gap={4} wrap={isShort ? "nowrap" : "wrap"}>
        {shown.map((item, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: values of a list have no other key
          <Item key={i} field={field} value={item} isListed />
        ))}
        {shown.length < all.length && <Text size="xs" c="dimmed">{`+${all.length - shown.length}`}</Text>}
      </Group>
    );
  }
  if (field.fieldKind === "map" || (isShort && isComposite(field))) {
    const text = JSON.stringify(value);
    return isShort ? (
      <span className="cell">{text}</span>
    ) : (
      <Code block tabIndex={0}>
        {JSON.stringify(value, undefined, 2)}
      </Code>
    );
  }
  return <Item field={field} value={value!} isShort={isShort} />;
}

/** One value. */
function Item({
  field,
  value,
  isShort,
  isListed,
}: {
  field: DescField;
  value: JsonValue;
  isShort?: boolean;
  isListed?: boolean;
}) {
  const reference = referenceType(field);
  if (reference !== undefined && typeof value === "string") return <Reference type={reference} uid={value} />;
  if (field.name === "uid") return <Uid uid={String(value)} />;
  if (field.enum) return <EnumBadge type={field.enum} name={String(value)} />;
  if (field.scalar === ScalarType.BOOL)
    return (
      <Text span size="sm">
        {value ? "Yes" : "No"}
      </Text>
    );
  if (field.message?.typeName === "google.protobuf.Timestamp") return <Time time={String(value)} />;
  if (isSeverity(field)) return <SeverityBadge severity={value as JsonObject} />;
  if (field.message !== undefined && typeof value === "object")
    return isComposite(field) ? (
      <Fields field={field} value={value as JsonObject} />
    ) : (
      <Code block tabIndex={0}>
        {JSON.stringify(value, undefined, 2)}
      </Code>
    );
  if (isListed) return <Code>{String(value)}</Code>;
  return (
    <Text span size="sm" className={isShort ? "cell" : "comment"} {...(isShort && { title: String(value) })}>
      {String(value)}
    </Text>
  );
}

/** The fields of a message that are set. */
function Fields({ field, value }: { readonly field: DescField; readonly value: JsonObject }) {
  return (
    <dl className="fields">
      {field
        .message!.fields.filter(({ jsonName }) => !isEmpty(value[jsonName]))
        .map((inner) => (
          <div key={inner.name}>
            <dt>{title(inner.name)}</dt>
            <dd>
              <Value field={inner} value={value[inner.jsonName]} />
            </dd>
          </div>
        ))}
    </dl>
  );
}

function EnumBadge({ type, name }: { readonly type: DescEnum; readonly name: string }) {
  return (
    <Badge variant="default" tt="none" fw={500} radius="sm">
      {enumLabel(type, name)}
    </Badge>
  );
}

/** Whether a field holds a message whose fields are shown. A rating is shown as a badge. */
export function isComposite(field: DescField): boolean {
  const { message } = field;
  return message !== undefined && !message.typeName.startsWith("google.protobuf.") && !isSeverity(field);
}

/** Whether a field holds ratings by CVSS. */
function isSeverity({ message }: DescField): boolean {
  return message?.name === "Severity";
}

/** Whether a value is absent, or as good as that. */
export function isEmpty(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function counted(count: number): string {
  return count === 1 ? "1 entry" : `${count} entries`;
}
