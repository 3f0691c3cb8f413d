/** Worlds in which organisations once changed each other's principals. */
import type { TokenSpec } from "./tokens.ts";
import type { Naming, Operation, Organisation, Presented, Rule, Step, World } from "./world.ts";

const spec: TokenSpec = {
  issuer: "one",
  subject: "ci",
  key: "published",
  namesKey: true,
  audiences: ["platform"],
  groups: [],
  repo: "",
  hasEmail: true,
};
const claims: Rule = { kind: "claims", issuer: "one", subject: "ci", audience: "", repo: "", repoPattern: "" };
const keys = (...keys: TokenSpec["key"][]): Rule => ({
  kind: "keys",
  issuer: "one",
  subject: "ci",
  keys,
  audience: "",
});

const by = (change: Partial<TokenSpec> = {}): Presented => ({ like: "none", pick: 0, token: { ...spec, ...change } });
const user = by({ audiences: ["web"] });
const identity = (org: Organisation, rule: Rule = claims): Step => ({
  do: "identity",
  org,
  folder: 0,
  rule,
  role: "editor",
});
const provider = (org: Organisation, client: "web" | "cli" | "platform" = "web"): Step => {
  return { do: "provider", org, issuer: "one", client, role: "editor" };
};
const directory = (org: Organisation): Step[] => [
  { do: "provisioning", org, pick: 0 },
  { do: "entry", org, pick: 0, subject: "ci", active: true },
];
const operation = (name: Operation["name"]): Operation => {
  return { name, folder: 0, pick: 0, isKeyed: false, over: "rest", issuer: "one", subject: "ci" };
};
const call = (presented: Presented, name: Operation["name"] = "createRepo"): Step => {
  return { do: "call", org: "A", by: presented, operation: operation(name) };
};
const exchange = (presented: Presented, naming: Naming = "nothing"): Step => {
  return { do: "exchange", org: "A", by: presented, naming, pick: 0 };
};
const use = (session = 0, name: Operation["name"] = "createRepo"): Step => {
  return { do: "use", org: "A", session, operation: operation(name) };
};
const invite = (org: Organisation): Step => ({ do: "invite", org, folder: 0, role: "viewer", hasEmail: false });
const refresh = (session = 0): Step => ({ do: "refresh", org: "A", session });
const narrow = (session = 0): Step => ({ do: "narrow", org: "A", session, folder: 0 });
const burst = (kind: "writes" | "exchanges" | "denials"): Step => ({ do: "burst", org: "B", pick: 0, kind });

const worlds: Readonly<Record<string, readonly Step[]>> = {
  "a directory names the subject of a job": [
    ...[identity("A"), provider("B", "cli"), ...directory("B")],
    ...[exchange(by()), use(), call(by())],
  ],
  "an identity for the subject of a job is there first": [
    identity("B"),
    identity("A"),
    exchange(by()),
    use(),
    call(by()),
  ],
  "an identity for the subject of a job comes later": [identity("A"), identity("B"), exchange(by()), use(), call(by())],
  "a directory describes a user who signs in elsewhere": [
    ...[provider("B", "cli"), ...directory("B"), provider("A"), call(user), exchange(user), use()],
    call(by({ audiences: ["web"], subject: "jane" }), "listBindings"),
  ],
  "a user is known and another organisation has the same issuer and client": [
    ...[provider("A"), exchange(user), use(), provider("B"), exchange(user), use(1), call(user)],
  ],
  "a mapping of another organisation ends the sessions of users": [
    ...[provider("A"), exchange(by({ audiences: ["web"], groups: ["ops"] })), provider("B")],
    { do: "mapping", org: "B", pick: 0, group: "ops", role: "viewer" },
    ...[exchange(by({ audiences: ["web"], groups: ["ops"] })), refresh(1), use(1)],
  ],
  "a provider for the platform itself accepts every job": [
    identity("A"),
    provider("B", "platform"),
    call(by()),
    exchange(by()),
  ],
  "two providers for the platform itself accept every job": [
    ...[identity("A"), provider("B", "platform"), provider("C", "platform"), call(by()), exchange(by())],
  ],
  "a provider for the platform itself accepts a job that names its identity or its organisation": [
    ...[identity("A"), exchange(by(), "scopes"), provider("B", "platform"), use(0, "lookup"), refresh()],
    ...[exchange(by(), "identity"), exchange(by(), "scopes"), narrow()],
  ],
  "two providers of others accept a user whom A does not know, and who names a group of A": [
    ...[provider("B"), provider("C"), exchange(user, "scopes"), exchange(user)],
  ],
  "a key of another organisation signs for the subject of a job": [
    ...[identity("A"), identity("B", keys("first")), call(by({ key: "first" })), exchange(by({ key: "first" })), use()],
    call(by()),
  ],
  "a key of another organisation signs for a user": [
    ...[provider("A"), call(user), identity("B", keys("first")), exchange(by({ key: "first" })), use(), call(user)],
  ],
  "organisations have the same key": [
    ...[identity("B", keys("first", "second")), identity("A", keys("first")), identity("C", keys("first"))],
    ...[exchange(by({ key: "first" })), use(), refresh(), use(), call(by({ key: "first" }))],
  ],
  "organisations have a published key as their own": [
    ...[identity("B", keys("published")), identity("A"), exchange(by()), use(), call(by())],
  ],
  "keys of organisations crowd out those of another": [
    { do: "crowd", org: "B", issuer: "one", subject: "ci", key: "first" },
    { do: "crowd", org: "C", issuer: "one", subject: "ci", key: "first" },
    identity("A", keys("third")),
    ...[call(by({ key: "third" })), exchange(by({ key: "third" })), use()],
  ],
  "long keys of organisations crowd out those of another": [
    ...[identity("B", keys("long", "first")), identity("A", keys("long")), call(by({ key: "long" }))],
  ],
  "an invite is accepted by who is an identity elsewhere": [
    ...[identity("B", { ...claims, audience: "any" }), provider("A"), invite("A")],
    ...[call(user), call(user), call(user, "acceptInvite")],
  ],
  "an invite of another organisation is accepted": [
    ...[identity("A"), invite("B"), call(by(), "listRepos"), invite("A"), invite("A")],
    { do: "call", org: "B", by: by(), operation: operation("acceptInvite") },
  ],
  "others change something between tokens that describe a user and those that do not": [
    ...[provider("A"), exchange(by({ audiences: ["web"], hasEmail: false })), refresh(), call(user, "listRepos")],
    ...[call(user, "explain"), provider("B", "cli"), use(), call(user, "getRepo"), call(user, "listRepos")],
  ],
  "another principal uses up what a user may write": [
    ...[identity("B", keys("first")), provider("A"), exchange(user), use()],
    ...[burst("writes"), use(), call(user)],
  ],
  "another principal has more sessions than one may have": [
    ...[identity("B", keys("first")), provider("A"), exchange(user), use()],
    ...[burst("exchanges"), refresh()],
  ],
  "another principal is denied more often than is recorded": [
    ...[identity("B", keys("first")), provider("A"), exchange(user), use()],
    ...[burst("denials"), call(user, "createGroup")],
  ],
};

/** Their names and worlds. A's uid sorts first in one half of them and last in the other. */
export const knownWorlds: ReadonlyMap<World, string> = new Map(
  [0, 3].flatMap((rank) => Object.entries(worlds).map(([name, steps]): [World, string] => [{ rank, steps }, name])),
);
