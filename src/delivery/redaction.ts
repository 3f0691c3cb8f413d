/** What of a message an event does not tell. One table, by the type of the message. */

interface Redaction {
  /** The only members that stay. */
  readonly keep?: readonly string[];
  /** Members that go, by their paths. */
  readonly drop?: readonly string[];
}

const redactions: Readonly<Record<string, Redaction | null>> = {
  "platform.iam.v2.GroupInvite": { keep: ["uid", "expirationTime"] },
  "platform.iam.v2.IdentityProvider": { drop: ["oidc.clientSecret"] },
  "platform.events.v2.Subscription": { drop: ["signingSecret"] },
  "platform.iam.v2.DeleteAccountAssociationRequest": null,
};

/** The JSON text of a message as events have it. */
export function redact(typeName: string, json: string): string {
  const redaction = Object.hasOwn(redactions, typeName) ? redactions[typeName] : undefined;
  if (redaction === null) return "null";
  if (redaction === undefined) return json;
  const { keep, drop = [] } = redaction;
  const all: Members = JSON.parse(json);
  const members =
    keep === undefined ? all : Object.fromEntries(Object.entries(all).filter(([name]) => keep.includes(name)));
  for (const path of drop) remove(members, path.split("."));
  return JSON.stringify(members);
}

type Members = { [name: string]: unknown };

function remove(members: Members, [name = "", ...rest]: readonly string[]): void {
  if (rest.length === 0) delete members[name];
  else if (typeof members[name] === "object" && members[name] !== null) remove(members[name] as Members, rest);
}
