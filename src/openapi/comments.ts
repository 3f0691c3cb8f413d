/** Comments of proto files, where the descriptors have them: those of a plugin, and of sets made with source info. */
import type { AnyDesc, DescFile } from "@bufbuild/protobuf";
import type { CommentOf } from "./schemas.ts";

type Declaration = Exclude<AnyDesc, DescFile>;

const cache = new WeakMap<DescFile, ReadonlyMap<string, string>>();

/** The comment before a declaration, or else the one after it; "" if it has none. */
export const commentOf: CommentOf = (desc) => {
  const file = "file" in desc ? desc.file : desc.parent.file;
  let comments = cache.get(file);
  if (comments === undefined) {
    const locations = file.proto.sourceCodeInfo?.location ?? [];
    comments = new Map(
      locations.map(({ path, leadingComments, trailingComments }) => [
        path.join(),
        leadingComments || trailingComments,
      ]),
    );
    cache.set(file, comments);
  }
  const lines = (comments.get(pathOf(desc).join()) ?? "").split(/\r?\n/);
  return lines
    .map((line) => line.replace(/^ /, "").trimEnd())
    .join("\n")
    .trim();
};

/** Where a declaration is in its file. The numbers are those of fields in descriptor.proto. */
function pathOf(desc: Declaration): number[] {
  switch (desc.kind) {
    case "service":
      return [6, desc.file.proto.service.indexOf(desc.proto)];
    case "rpc":
      return [...pathOf(desc.parent), 2, desc.parent.proto.method.indexOf(desc.proto)];
    case "message":
      return desc.parent === undefined
        ? [4, desc.file.proto.messageType.indexOf(desc.proto)]
        : [...pathOf(desc.parent), 3, desc.parent.proto.nestedType.indexOf(desc.proto)];
    case "enum":
      return desc.parent === undefined
        ? [5, desc.file.proto.enumType.indexOf(desc.proto)]
        : [...pathOf(desc.parent), 4, desc.parent.proto.enumType.indexOf(desc.proto)];
    case "enum_value":
      return [...pathOf(desc.parent), 2, desc.parent.proto.value.indexOf(desc.proto)];
    case "field":
      return [...pathOf(desc.parent), 2, desc.parent.proto.field.indexOf(desc.proto)];
    case "oneof":
      return [...pathOf(desc.parent), 8, desc.parent.proto.oneofDecl.indexOf(desc.proto)];
    case "extension":
      return []; // a document has none
  }
}
