/** Comments of the contract, as help. */
import type { DescField, DescFile, DescMessage, DescMethod } from "@bufbuild/protobuf";

const cache = new WeakMap<DescFile, ReadonlyMap<string, string>>();

/** The comment of a field or a method, without markers; "" if it has none. */
export function commentOf(desc: DescField | DescMethod): string {
  const { file } = desc.parent;
  let comments = cache.get(file);
  if (comments === undefined) {
    const locations = file.proto.sourceCodeInfo?.location ?? [];
    comments = new Map(locations.map(({ path, leadingComments }) => [path.join(), leadingComments]));
    cache.set(file, comments);
  }
  const text = comments.get((desc.kind === "field" ? pathOfField(desc) : pathOfMethod(desc)).join()) ?? "";
  return text.replace(/^ /gm, "").trim();
}

/** The numbers are those of fields in descriptor.proto. */
function pathOfField({ parent, proto }: DescField): number[] {
  return [...pathOfMessage(parent), 2, parent.proto.field.indexOf(proto)];
}

function pathOfMessage({ parent, file, proto }: DescMessage): number[] {
  return parent === undefined
    ? [4, file.proto.messageType.indexOf(proto)]
    : [...pathOfMessage(parent), 3, parent.proto.nestedType.indexOf(proto)];
}

function pathOfMethod({ parent, proto }: DescMethod): number[] {
  return [6, parent.file.proto.service.indexOf(parent.proto), 2, parent.proto.method.indexOf(proto)];
}
