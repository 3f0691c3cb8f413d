import type { JsonObject } from "@bufbuild/protobuf";
import { InviteLink } from "./link.tsx";

/** The link of an invite that has just been created. */
export default function CreatedInvite({ resource }: { readonly resource: JsonObject }) {
  return <InviteLink code={String(resource.code)} />;
}
