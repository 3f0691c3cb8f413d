/** Grants in words. */
import type { DescEnum } from "@bufbuild/protobuf";
import { type Grant, GrantSourceSchema, GrantState } from "../../../gen/platform/access/v1/access_pb.ts";

/** The name of something with its uid, or the uid alone. */
export function named({ uid, name }: { readonly uid: string; readonly name: string }): string {
  return name === "" ? uid : `${name} (${uid})`;
}

/** A value of an enum: `role binding` for ROLE_BINDING; "" for one that is not known. */
export function inWords({ value }: DescEnum, number: number): string {
  return value[number]?.localName.toLowerCase().replaceAll("_", " ") ?? "";
}

/** Where a grant comes from: `role binding`. */
export function sourceOf({ source }: Grant): string {
  return inWords(GrantSourceSchema, source);
}

/** Whether a grant counts: `yes`, `if …`, `no: …`. */
export function countsInWords({ state, condition }: Grant): string {
  switch (state) {
    case GrantState.ACTIVE:
      return "yes";
    case GrantState.INEFFECTIVE:
      return `no: ${condition}`;
    case GrantState.PENDING:
      return `not until ${condition}`;
    default:
      return `if ${condition}`;
  }
}

/** The uid of what makes a grant. */
export function originOf({ binding, groupMapping, groupInvite, identityProvider }: Grant): string {
  return binding || groupMapping || groupInvite || identityProvider;
}

/** Who has the role. */
export function holderOf({ identity, externalGroup, email }: Grant): { readonly uid: string; readonly name: string } {
  if (identity !== undefined) return { uid: identity.uid, name: identity.name || identity.email };
  const name = externalGroup !== "" ? `members of ${JSON.stringify(externalGroup)}` : email;
  return { uid: "", name };
}
