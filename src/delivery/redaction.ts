/** What of a message an event does not tell. One table, by the type of the message. */
import { covers, parentOf } from "../uid.ts";

interface Redaction {
  /** The only members that stay. */
  readonly keep?: readonly string[];
  /** Members that go, by their paths. */
  readonly drop?: readonly string[];
  /** Changes what is left, in place. */
  readonly edit?: (members: Members) => void;
}

const redactions: Readonly<Record<string, Redaction | null>> = {
  "platform.iam.v2.GroupInvite": { keep: ["uid", "expirationTime"] },
  "platform.iam.v2.IdentityProvider": { drop: ["oidc.clientSecret"] },
  "platform.events.v2.Subscription": { drop: ["signingSecret"] },
  "platform.iam.v2.RoleBinding": { edit: hideIdentity },
  "platform.iam.v2.BatchCreateRoleBindingsResponse": { edit: hideIdentities },
  "platform.iam.v2.DeleteAccountAssociationRequest": null,
};

/** The JSON text of a message as events have it. */
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

/** The group's subscribers may know identities of the group; of one from elsewhere, a user of another organisation's even, they get the uid. */
function hideIdentity({ uid, identity }: Members): void {
  const members = identity as Members | undefined;
  if (members === undefined || covers(parentOf(String(uid)), String(members.uid))) return;
  for (const name of Object.keys(members)) if (name !== "uid") members[name] = "";
}

function hideIdentities({ roleBindings }: Members): void {
  for (const binding of roleBindings as Members[]) hideIdentity(binding);
}
