/**
 * Prints a file descriptor as .proto source. Supports the subset of the language used by the third-party files that the
 * contract imports. Comments are lost; the rest is equivalent for a compiler.
 */
import {
  createRegistry,
  type DescFile,
  type DescMessage,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  EnumOptionsSchema,
  EnumValueOptionsSchema,
  ExtensionRangeOptionsSchema,
  type FieldDescriptorProto,
  FieldOptionsSchema,
  FileOptionsSchema,
  FieldDescriptorProto_Label as Label,
  MessageOptionsSchema,
  type OneofDescriptorProto,
  OneofOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

const maxField = 536870911;
const maxEnumValue = 2147483647;

const scalarNames = new Map([
  [Type.DOUBLE, "double"],
  [Type.FLOAT, "float"],
  [Type.INT64, "int64"],
  [Type.UINT64, "uint64"],
  [Type.INT32, "int32"],
  [Type.FIXED64, "fixed64"],
  [Type.FIXED32, "fixed32"],
  [Type.BOOL, "bool"],
  [Type.STRING, "string"],
  [Type.BYTES, "bytes"],
  [Type.UINT32, "uint32"],
  [Type.SFIXED32, "sfixed32"],
  [Type.SFIXED64, "sfixed64"],
  [Type.SINT32, "sint32"],
  [Type.SINT64, "sint64"],
]);

const labelNames = new Map([
  [Label.OPTIONAL, "optional "],
  [Label.REPEATED, "repeated "],
  [Label.REQUIRED, "required "],
]);

/** Options with enum values, which are written without quotes. */
const enumOptions = new Set(["optimize_for", "ctype", "jstype", "retention", "targets"]);

/** The source of `file`. A construct outside the subset results in text that does not compile. */
export function printFile(file: DescFile): string {
  const registry = createRegistry(file, ...file.dependencies);
  const proto = file.proto;

  const literal = (value: JsonValue): string => {
    if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    // A list of messages is written as a repeated key: protobufjs does not read the form with brackets.
    const isMessageList = (inner: JsonValue): inner is JsonValue[] =>
      Array.isArray(inner) && typeof inner[0] === "object";
    const entries = Object.entries(value).flatMap(([key, inner]) =>
      (isMessageList(inner) ? inner : [inner]).map((one) => `${key}: ${literal(one)}`),
    );
    return `{ ${entries.join(" ")} }`;
  };

  const options = (schema: DescMessage, message: Message | undefined): string[] => {
    if (!message) return [];
    const json = toJson(schema, message, { registry, useProtoFieldName: true }) as Record<string, JsonValue>;
    return Object.entries(json).flatMap(([key, value]) => {
      const extension = key.startsWith("[");
      const name = extension ? `(${key.slice(1, -1)})` : key;
      const values = Array.isArray(value) && !extension ? value : [value];
      return values.map((one) => `${name} = ${enumOptions.has(key) ? one : literal(one)}`);
    });
  };
  const inline = (list: string[]) => (list.length > 0 ? ` [${list.join(", ")}]` : "");
  const statements = (list: string[]) => list.map((option) => `option ${option};`);

  const typeOf = (field: FieldDescriptorProto) => scalarNames.get(field.type) ?? field.typeName;
  const isMapEntry = (message: DescriptorProto) => message.options?.mapEntry === true;
  const isOneofMember = (field: FieldDescriptorProto) => Object.hasOwn(field, "oneofIndex") && !field.proto3Optional;

  const field = (desc: FieldDescriptorProto, maps = new Map<string, DescriptorProto>()) => {
    const list = options(FieldOptionsSchema, desc.options);
    if (desc.defaultValue) {
      list.unshift(`default = ${desc.type === Type.STRING ? literal(desc.defaultValue) : desc.defaultValue}`);
    }
    const tail = `${desc.name} = ${desc.number}${inline(list)};`;
    const entry = maps.get(desc.typeName);
    if (entry) return `map<${typeOf(entry.field[0]!)}, ${typeOf(entry.field[1]!)}> ${tail}`;
    return `${isOneofMember(desc) ? "" : labelNames.get(desc.label)}${typeOf(desc)} ${tail}`;
  };

  const range = (first: number, last: number, max: number) => {
    if (first === last) return `${first}`;
    return `${first} to ${last >= max ? "max" : last}`;
  };

  const reserved = <Range extends { start: number; end: number }>(
    desc: { reservedRange: Range[]; reservedName: string[] },
    lastOf: (range: Range) => number,
    max: number,
  ) => [
    ...desc.reservedRange.map((r) => `reserved ${range(r.start, lastOf(r), max)};`),
    ...desc.reservedName.map((name) => `reserved ${literal(name)};`),
  ];

  const extensions = (list: FieldDescriptorProto[]) =>
    [...new Set(list.map((extension) => extension.extendee))].flatMap((extendee) => [
      `extend ${extendee} {`,
      ...list.filter((extension) => extension.extendee === extendee).map((extension) => field(extension)),
      "}",
    ]);

  const enumeration = (desc: EnumDescriptorProto) => [
    `enum ${desc.name} {`,
    ...statements(options(EnumOptionsSchema, desc.options)),
    ...desc.value.map((v) => `${v.name} = ${v.number}${inline(options(EnumValueOptionsSchema, v.options))};`),
    ...reserved(desc, (r) => r.end, maxEnumValue),
    "}",
  ];

  const message = (desc: DescriptorProto, scope: string): string[] => {
    const name = `${scope}.${desc.name}`;
    const maps = new Map(desc.nestedType.filter(isMapEntry).map((entry) => [`${name}.${entry.name}`, entry]));
    const oneof = (decl: OneofDescriptorProto, index: number) => {
      const members = desc.field.filter((member) => isOneofMember(member) && member.oneofIndex === index);
      if (members.length === 0) return [];
      const body = [
        ...statements(options(OneofOptionsSchema, decl.options)),
        ...members.map((member) => field(member, maps)),
      ];
      return [`oneof ${decl.name} {`, ...body, "}"];
    };
    return [
      `message ${desc.name} {`,
      ...statements(options(MessageOptionsSchema, desc.options)),
      ...desc.nestedType.filter((nested) => !isMapEntry(nested)).flatMap((nested) => message(nested, name)),
      ...desc.enumType.flatMap(enumeration),
      ...desc.field.filter((plain) => !isOneofMember(plain)).map((plain) => field(plain, maps)),
      ...desc.oneofDecl.flatMap(oneof),
      ...reserved(desc, (r) => r.end - 1, maxField),
      ...desc.extensionRange.map((r) => {
        const list = options(ExtensionRangeOptionsSchema, r.options);
        return `extensions ${range(r.start, r.end - 1, maxField)}${inline(list)};`;
      }),
      ...extensions(desc.extension),
      "}",
    ];
  };

  const lines = [
    `syntax = "${proto.syntax || "proto2"}";`,
    `package ${proto.package};`,
    ...proto.dependency.map((path) => `import "${path}";`),
    ...statements(options(FileOptionsSchema, proto.options)),
    ...extensions(proto.extension),
    ...proto.messageType.flatMap((desc) => message(desc, `.${proto.package}`)),
    ...proto.enumType.flatMap(enumeration),
  ];
  return `${lines.join("\n")}\n`;
}
