/** Comments of the proto files. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";

/** The comment before a field, without markers; "" for none. */
export function commentOf(field: DescField): string {
  const path = [...pathOf(field.parent), 2, field.parent.proto.field.indexOf(field.proto)].join();
  const location = field.parent.file.proto.sourceCodeInfo?.location.find((it) => it.path.join() === path);
  return (location?.leadingComments ?? "").replace(/^ /gm, "").trim();
}

function pathOf(message: DescMessage): number[] {
  const { parent, file, proto } = message;
  return parent === undefined
    ? [4, file.proto.messageType.indexOf(proto)]
    : [...pathOf(parent), 3, parent.proto.nestedType.indexOf(proto)];
}
