/** Removes fields from messages in events that subscribers may not see. One table, by message type. */
import { covers, parentOf } from "../uid.ts";

interface Redaction {
  /** The only fields to keep. */
  readonly keep?: readonly string[];
  /** Paths of fields to drop. */
  readonly drop?: readonly string[];
  /** Changes the remaining fields in place. */
  readonly edit?: (members: Members) => void;
}

const redactions: Readonly<Record<string, Redaction | null>> = {
  "platform.iam.v2.GroupInvite": { keep: ["uid", "expirationTime"] },
  "platform.iam.v2.IdentityProvider": { drop: ["oidc.clientSecret"] },
  "platform.iam.v1.GenerateScimTokenResponse": { drop: ["token"] },
  "platform.iam.v1.RegenerateScimTokenResponse": { drop: ["token"] },
  "platform.events.v2.Subscription": { drop: ["signingSecret"] },
  "platform.delivery.v1.DeliverySettings": { drop: ["signingSecret"] },
  "platform.iam.v2.RoleBinding": { edit: hideIdentity },
  "platform.iam.v2.BatchCreateRoleBindingsResponse": { edit: hideIdentities },
  "platform.iam.v2.DeleteAccountAssociationRequest": null,
};

/** The JSON text of a message as it appears in events. */
export function redact(typeName: string, json: string): string {
  const redaction = Object.hasOwn(redactions, typeName) ? redactions[typeName] : undefined;
  if (redaction === null) return "null";
  if (redaction === undefined) return json;
  const { keep, drop = [], edit } = redaction;
  const all: Members = JSON.parse(json);
  const members =
    keep === undefined ? all : Object.fromEntries(Object.entries(all).filter(([name]) => keep.includes(name)));
  for (const path of drop) remove(members, path.split("."));
  edit?.(members);
  return JSON.stringify(members);
}

type Members = { [name: string]: unknown };

function remove(members: Members, [name = "", ...rest]: readonly string[]): void {
  if (rest.length === 0) delete members[name];
  else if (typeof members[name] === "object" && members[name] !== null) remove(members[name] as Members, rest);
}

/** Clears everything but the uid of an identity outside the group, which may be a user of another organization. */
function hideIdentity({ uid, identity }: Members): void {
  const members = identity as Members | undefined;
  if (members === undefined || covers(parentOf(String(uid)), String(members.uid))) return;
  for (const name of Object.keys(members)) if (name !== "uid") members[name] = "";
}

function hideIdentities({ roleBindings }: Members): void {
  for (const binding of roleBindings as Members[]) hideIdentity(binding);
}
