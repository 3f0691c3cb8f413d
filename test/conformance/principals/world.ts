/**
 * Random worlds: organisation A and up to three others with identities, providers, directories and bindings of the same
 * few issuers, subjects, clients and keys, and calls. A world is a list of steps. A step that needs what is not there
 * does nothing, so that every part of a world is a world.
 */
import fc from "fast-check";
import {
  type Audience,
  type IssuerName,
  issuers,
  type KeyName,
  keyNames,
  type Subject,
  subjects,
  type TokenSpec,
} from "./tokens.ts";

export type { IssuerName } from "./tokens.ts";

/** The organisations; the property is about A. */
export const organisations = ["A", "B", "C", "D"] as const;
export type Organisation = (typeof organisations)[number];

/** 0 is the organisation, 1 a folder in it, 2 a folder in that. */
export type Folder = 0 | 1 | 2;
export type RoleName = "viewer" | "editor" | "owner";

/** The rule of an identity; `any` stands for a pattern that matches everything of the world. */
export type Rule =
  | {
      readonly kind: "claims";
      readonly issuer: IssuerName | "any";
      readonly subject: Subject | "any";
      readonly audience: Audience | "any" | "";
      readonly repo: string;
      readonly repoPattern: string;
    }
  | {
      readonly kind: "keys";
      readonly issuer: IssuerName;
      readonly subject: Subject;
      readonly keys: readonly KeyName[];
      readonly audience: Audience | "";
    };

interface In {
  readonly org: Organisation;
}

/** What an owner of the organisation does. `pick` selects among what there is. */
export type OwnersStep =
  | (In & { readonly do: "identity"; readonly folder: Folder; readonly rule: Rule; readonly role: RoleName | "" })
  | (In & {
      readonly do: "provider";
      readonly issuer: IssuerName;
      readonly client: Audience;
      readonly role: RoleName;
    })
  | (In & { readonly do: "mapping"; readonly pick: number; readonly group: string; readonly role: RoleName })
  | (In & { readonly do: "provisioning"; readonly pick: number })
  | (In & { readonly do: "entry"; readonly pick: number; readonly subject: Subject; readonly active: boolean })
  | (In & { readonly do: "entryGroup"; readonly pick: number; readonly group: string })
  | (In & { readonly do: "entryActive"; readonly pick: number; readonly active: boolean })
  | (In & {
      readonly do: "bindUser";
      readonly issuer: IssuerName;
      readonly subject: Subject;
      readonly folder: Folder;
      readonly role: RoleName;
    })
  | (In & { readonly do: "bindIdentity"; readonly pick: number; readonly folder: Folder; readonly role: RoleName })
  | (In & { readonly do: "invite"; readonly folder: Folder; readonly role: RoleName; readonly hasEmail: boolean })
  | (In & { readonly do: "deleteIdentity"; readonly pick: number })
  | (In & { readonly do: "deleteProvider"; readonly pick: number })
  | (In & { readonly do: "crowd"; readonly issuer: IssuerName; readonly subject: Subject; readonly key: KeyName });

export const operations = [
  "createRepo",
  "getRepo",
  "listRepos",
  "deleteRepo",
  "createIdentity",
  "listIdentities",
  "bindUser",
  "listBindings",
  "acceptInvite",
  "acceptTerms",
  "createGroup",
  "readAudit",
  "explain",
  "listAccess",
  "lookup",
] as const;
export type OperationName = (typeof operations)[number];

/** A call of a principal about an organisation. */
export interface Operation {
  readonly name: OperationName;
  readonly folder: Folder;
  readonly pick: number;
  readonly isKeyed: boolean;
  readonly over: "rest" | "grpc";
  readonly issuer: IssuerName;
  readonly subject: Subject;
}

/**
 * A token, of the pool or like what an organisation expects: an identity or a user of a provider. `own` is the
 * organisation that the step is about.
 */
export interface Presented {
  readonly like: Organisation | "own" | "none";
  readonly pick: number;
  readonly token: TokenSpec;
}

/** What an exchange names. */
export type Naming = "nothing" | "identity" | "identity_provider" | "scopes" | "cap";

/** What somebody does with a token. */
export type PrincipalsStep =
  | (In & { readonly do: "call"; readonly by: Presented; readonly operation: Operation })
  | (In & { readonly do: "exchange"; readonly by: Presented; readonly naming: Naming; readonly pick: number })
  | (In & { readonly do: "use"; readonly session: number; readonly operation: Operation })
  | (In & { readonly do: "narrow"; readonly session: number; readonly folder: Folder })
  | (In & { readonly do: "refresh"; readonly session: number })
  | (In & { readonly do: "revoke"; readonly session: number })
  /** Many calls at once by a principal of the organisation that A does not know: there, about nobody, or about A. */
  | (In & { readonly do: "burst"; readonly pick: number; readonly kind: "writes" | "exchanges" | "denials" });

export type Step = OwnersStep | PrincipalsStep;

export interface World {
  /** How many of the others' uids sort before that of A. */
  readonly rank: number;
  readonly steps: readonly Step[];
}

const often = <T>(first: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
const issuer = often<IssuerName>(...issuers);
const subject = often<Subject>(...subjects);
const key = often<KeyName>(...keyNames);
const staticKey = fc.constantFrom<KeyName>("first", "first", "second", "second", "third", "long", "published");
const role = fc.constantFrom<RoleName>("viewer", "editor", "editor", "owner");
const folder = often<Folder>(0, 1, 2);
const pick = fc.nat(7);
const group = fc.constantFrom("ops", "dev");
const repo = often("", "acme", "bolt");
const org = fc.constantFrom<Organisation>("A", "A", "A", "B", "B", "C", "D");
const orgOfCalls = fc.constantFrom<Organisation>("A", "A", "A", "A", "A", "B", "C", "D");
const other = fc.constantFrom<Organisation>("B", "B", "C", "D");

const rule: fc.Arbitrary<Rule> = fc.oneof(
  fc.record({
    kind: fc.constant("claims" as const),
    issuer: often<IssuerName | "any">("one", "two", "any"),
    subject: often<Subject | "any">("ci", "jane", "any"),
    audience: often<Audience | "any" | "">("", "platform", "web", "any"),
    repo,
    repoPattern: often("", "a.*", ".*"),
  }),
  fc.record({
    kind: fc.constant("keys" as const),
    issuer,
    subject,
    keys: fc.uniqueArray(staticKey, { minLength: 1, maxLength: 2 }),
    audience: often<Audience | "">("", "platform", "web"),
  }),
);

const token: fc.Arbitrary<TokenSpec> = fc.record({
  issuer,
  subject,
  key: fc.oneof({ weight: 2, arbitrary: key }, { weight: 1, arbitrary: staticKey }),
  namesKey: often(true, false),
  audiences: fc.constantFrom<readonly Audience[]>(["platform"], ["platform"], ["web"], ["platform", "web"], ["cli"]),
  groups: fc.constantFrom<readonly string[]>([], ["ops"], ["ops", "dev"]),
  repo,
  hasEmail: fc.boolean(),
});

const by: fc.Arbitrary<Presented> = fc.record({
  like: fc.constantFrom<Presented["like"]>("own", "own", "own", "own", "A", "A", "B", "C", "none"),
  pick,
  token,
});

const operation: fc.Arbitrary<Operation> = fc.record({
  name: fc.constantFrom<OperationName>(...operations, "createRepo", "createRepo", "getRepo", "acceptInvite"),
  folder,
  pick,
  isKeyed: often(false, true),
  over: often<"rest" | "grpc">("rest", "grpc"),
  issuer,
  subject,
});

function step<Name extends Step["do"]>(
  name: Name,
  fields: { readonly [F in Exclude<keyof Extract<Step, { do: Name }>, "do">]: fc.Arbitrary<unknown> },
): fc.Arbitrary<Step> {
  return fc.record({ do: fc.constant(name), ...fields }) as unknown as fc.Arbitrary<Step>;
}

const identityOf = (org: fc.Arbitrary<Organisation>) =>
  step("identity", { org, folder, rule, role: often<RoleName | "">("editor", "", "owner") });
const providerOf = (org: fc.Arbitrary<Organisation>) =>
  step("provider", { org, issuer, client: often<Audience>("web", "cli", "platform"), role });
const ofA = fc.oneof(identityOf(fc.constant("A")), providerOf(fc.constant("A")));
const ownersSteps = fc.oneof(
  { weight: 6, arbitrary: identityOf(org) },
  { weight: 4, arbitrary: providerOf(org) },
  { weight: 1, arbitrary: step("mapping", { org, pick, group, role }) },
  { weight: 1, arbitrary: step("provisioning", { org, pick }) },
  { weight: 2, arbitrary: step("entry", { org, pick, subject, active: often(true, false) }) },
  { weight: 1, arbitrary: step("entryGroup", { org, pick, group }) },
  { weight: 1, arbitrary: step("entryActive", { org, pick, active: fc.boolean() }) },
  { weight: 2, arbitrary: step("bindUser", { org, issuer, subject, folder, role }) },
  { weight: 1, arbitrary: step("bindIdentity", { org, pick, folder, role }) },
  { weight: 2, arbitrary: step("invite", { org, folder, role, hasEmail: often(false, true) }) },
  { weight: 1, arbitrary: step("deleteIdentity", { org, pick }) },
  { weight: 1, arbitrary: step("deleteProvider", { org, pick }) },
  { weight: 1, arbitrary: step("crowd", { org: other, issuer, subject, key: staticKey }) },
);

const principalsSteps = fc.oneof(
  { weight: 10, arbitrary: step("call", { org: orgOfCalls, by, operation }) },
  {
    weight: 6,
    arbitrary: step("exchange", {
      org: orgOfCalls,
      by,
      naming: fc.constantFrom<Naming>(
        ...([
          "nothing",
          "nothing",
          "nothing",
          "identity",
          "identity_provider",
          "identity_provider",
          "scopes",
          "cap",
        ] as const),
      ),
      pick,
    }),
  },
  { weight: 8, arbitrary: step("use", { org: orgOfCalls, session: pick, operation }) },
  { weight: 2, arbitrary: step("narrow", { org: orgOfCalls, session: pick, folder }) },
  { weight: 3, arbitrary: step("refresh", { org: fc.constant("A"), session: pick }) },
  { weight: 1, arbitrary: step("revoke", { org: fc.constant("A"), session: pick }) },
);
const burst = step("burst", { org: other, pick, kind: fc.constantFrom("writes", "exchanges", "denials") });

/** Random worlds. */
export const worlds: fc.Arbitrary<World> = fc
  .tuple(
    fc.nat(3),
    fc.array(ofA, { minLength: 1, maxLength: 4, size: "max" }),
    fc.array(ownersSteps, { minLength: 4, maxLength: 12, size: "max" }),
    fc.array(
      fc.oneof(
        { weight: 20, arbitrary: ownersSteps },
        { weight: 80, arbitrary: principalsSteps },
        { weight: 1, arbitrary: burst },
      ),
      { minLength: 6, maxLength: 28, size: "max" },
    ),
  )
  .chain(([rank, own, first, then]) =>
    fc.shuffledSubarray([...own, ...first], { minLength: own.length + first.length }).map((begin) => ({
      rank,
      steps: [...begin, ...then],
    })),
  );

/** A world as a list to read. */
export function describeWorld({ rank, steps }: World): string {
  const lines = steps.map((step, i) => {
    const { org, do: name, ...fields } = step;
    return `  ${i + 1}. ${org} ${name} ${textOf(fields)}`;
  });
  return [`${rank} of the others sort before A`, ...lines].join("\n");
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(" ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const shown = Object.entries(value).filter(([, field]) => field !== "" && field !== false);
  return `{${shown.map(([name, field]) => `${name}: ${textOf(field)}`).join(", ")}}`;
}
