import type { DescField } from "@bufbuild/protobuf";
import { commentOf } from "../../src/remote/catalog/comments.ts";

/** The comment of a field as the contract has it, in one paragraph; what is between backquotes is code. */
export function Comment({ field }: { readonly field: DescField }) {
  const parts = commentOf(field).replaceAll("\n", " ").split("`");
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a comment never change
  return parts.map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>));
}
