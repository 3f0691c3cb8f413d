/**
 * Services with incomplete annotations, built as descriptors, because `buf lint` would reject such files in `proto`.
 */
import {
  create,
  createFileRegistry,
  type DescService,
  type Message,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf";
import {
  type FieldDescriptorProto,
  FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  type MethodDescriptorProtoSchema,
  MethodOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { ResourceReferenceSchema, resource_reference } from "../../gen/google/api/resource_pb.ts";
import { IamSchema, iam, iam_scope } from "../../gen/platform/annotations/annotations_pb.ts";

/** A field of the request. */
export interface FieldSketch {
  readonly name: string;
  readonly isScope?: boolean;
  /** Type of the resource that the field names. */
  readonly names?: string;
  /** A message without a uid, instead of a string. */
  readonly isMessage?: true;
}

/** A method. Absent options are not set. */
export interface MethodSketch {
  readonly name?: string;
  readonly packageName?: string;
  readonly http?: false;
  readonly iam?: Exclude<MessageInitShape<typeof IamSchema>, Message>;
  readonly fields?: readonly FieldSketch[];
  readonly streams?: MessageInitShape<typeof MethodDescriptorProtoSchema>;
}

/** A service `Careless` with one method, by default `Do`. */
export function careless({
  name = "Do",
  packageName = "platform.test.v2",
  iam: rule,
  fields = [],
  streams = {},
  ...rest
}: MethodSketch): DescService {
  const options = create(MethodOptionsSchema);
  if (rest.http !== false)
    setExtension(options, http, create(HttpRuleSchema, { pattern: { case: "get", value: "/test/v2/do" } }));
  if (rule !== undefined) setExtension(options, iam, create(IamSchema, rule));
  const inPackage = packageName === "" ? "" : `.${packageName}`;
  const file = create(FileDescriptorProtoSchema, {
    name: "careless.proto",
    package: packageName,
    syntax: "proto3",
    messageType: [
      { name: "DoRequest", field: fields.map((field, i) => fieldOf(field, i + 1, inPackage)) },
      { name: "DoResponse" },
      { name: "Other", field: [{ name: "text", number: 1, type: Type.STRING, label: Label.OPTIONAL }] },
    ],
    service: [
      {
        name: "Careless",
        method: [
          {
            name,
            inputType: `${inPackage}.DoRequest`,
            outputType: `${inPackage}.DoResponse`,
            options,
            ...streams,
          },
        ],
      },
    ],
  });
  const registry = createFileRegistry(file, () => undefined);
  return registry.getService(`${packageName === "" ? "" : `${packageName}.`}Careless`)!;
}

function fieldOf(
  { name, isScope, names, isMessage }: FieldSketch,
  number: number,
  inPackage: string,
): FieldDescriptorProto {
  const options = create(FieldOptionsSchema);
  if (isScope) setExtension(options, iam_scope, true);
  if (names !== undefined) setExtension(options, resource_reference, create(ResourceReferenceSchema, { type: names }));
  const type = isMessage ? { type: Type.MESSAGE, typeName: `${inPackage}.Other` } : { type: Type.STRING };
  return create(FieldDescriptorProtoSchema, { name, number, label: Label.OPTIONAL, options, ...type });
}
