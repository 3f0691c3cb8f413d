/** What a world has so far, and what follows from it for a token. */
import type { Answer } from "./installation.ts";
import { type Audience, publishedKeys, type Subject, type TokenSpec, verifies } from "./tokens.ts";
import type { Folder, IssuerName, Naming, OperationName, Organisation, RoleName, Rule } from "./world.ts";

/** One value for each installation: with the others, and of A also without them. */
export interface Sides<T> {
  readonly x: T;
  readonly y: T | undefined;
}
export type Side = keyof Sides<unknown>;

/** What is read of each answer. */
export function sides<T>({ x, y }: Sides<Answer>, read: (answer: Answer) => T): Sides<T> {
  return { x: read(x), y: y && read(y) };
}

/** Whether an answer tells success, over whatever protocol. */
export function isSuccess({ status }: Answer): boolean {
  return status === 0 || (status >= 200 && status < 300);
}

/** Whether a call has succeeded where it was made. */
export function isOk({ x, y }: Sides<Answer>): boolean {
  return isSuccess(x) && (y === undefined || isSuccess(y));
}

/** One of all, if there is any. */
export function at<T>(all: readonly T[], pick: number): T | undefined {
  return all[pick % Math.max(1, all.length)];
}

export interface Identity {
  readonly org: Organisation;
  readonly folder: Folder;
  readonly rule: Rule;
  readonly uid: Sides<string>;
}
export interface Provider {
  readonly org: Organisation;
  readonly issuer: IssuerName;
  readonly client: Audience;
  readonly uid: Sides<string>;
  readonly role: RoleName;
  /** Its token for provisioning. */
  secret: Sides<string> | undefined;
  /** The users that it has signed in. A provider of A has signed in the same ones at both installations. */
  readonly signedIn: Set<Subject>;
  /** Those that tokens have described to it. */
  readonly described: { readonly x: Set<Subject>; readonly y: Set<Subject> };
}
export interface Entry {
  readonly provider: Provider;
  readonly subject: Subject;
  readonly id: Sides<string>;
  isActive: boolean;
}
export interface Made {
  readonly org: Organisation;
  readonly folder: Folder;
  readonly uid: Sides<string>;
}
export interface Invite extends Made {
  readonly role: RoleName;
  readonly hasEmail: boolean;
}
/** Whom a role is bound to: the uid of an identity with the others, or an issuer and subject. */
export interface Binding {
  readonly org: Organisation;
  readonly folder: Folder;
  readonly role: RoleName;
  readonly to: string;
}
/** A token that was given for another. */
export interface Session {
  readonly spec: TokenSpec;
  readonly naming: Naming;
  /** What it was given for is all that it speaks for: an identity, or the user of a provider. */
  readonly identity: Identity | undefined;
  readonly provider: Provider | undefined;
  /** The organisation of the groups that it is narrowed to. */
  readonly within: Organisation | undefined;
  token: Sides<string>;
  refresh: Sides<string> | undefined;
}

/** What a token is presented for. */
export interface Presentation {
  readonly spec: TokenSpec;
  /** Undefined for the token itself. */
  readonly session?: Session | undefined;
  /** The provider that an exchange names. */
  readonly named?: Provider | undefined;
  /** The organisation that it is about; undefined if none is known when its caller is. */
  readonly place: Organisation | undefined;
}

/** What becomes of the user of a token. */
export interface SignIn {
  /** The providers that let it in; the token of a user who is signed in at one has it alone. */
  readonly providers: readonly Provider[];
  /** Whether the token speaks for a user: one that a provider lets in, or that exists and whose own rule it matches. */
  readonly isUser: boolean;
  /** The provider that signs it in for the first time. */
  readonly first: Provider | undefined;
  /** Whether it would be signed in, at one of several. */
  readonly isAmbiguous: boolean;
}

/** Everything that exists. */
export class State {
  readonly identities: Identity[] = [];
  readonly providers: Provider[] = [];
  readonly entries: Entry[] = [];
  readonly invites: Invite[] = [];
  readonly repos: Made[] = [];
  readonly bindings: Binding[] = [];
  readonly sessions: Session[] = [];
  /** The users that exist. */
  readonly #users = { x: new Set<string>(), y: new Set<string>() };
  /** Whether somebody has a role in A that `bindings` lacks. */
  hasOtherGrants = false;

  /** The identities of an organisation that a token matches, oldest first. */
  matching(org: Organisation, token: TokenSpec): Identity[] {
    return this.identities.filter((identity) => identity.org === org && matchesRule(identity.rule, token));
  }

  /** The providers that a token is for: those of A, and those of others. */
  accepting(token: TokenSpec): { readonly own: Provider[]; readonly others: Provider[] } {
    if (!verifies(publishedKeys[token.issuer], token)) return { own: [], others: [] };
    const all = this.providers.filter(
      ({ issuer, client }) => issuer === token.issuer && token.audiences.includes(client),
    );
    return { own: all.filter(({ org }) => org === "A"), others: all.filter(({ org }) => org !== "A") };
  }

  /** Whether an organisation may know a token. */
  mayKnow(org: Organisation, token: TokenSpec): boolean {
    const { own, others } = this.accepting(token);
    return this.matching(org, token).length > 0 || [...own, ...others].some((provider) => provider.org === org);
  }

  /** What becomes of the user of a token at an installation. It changes nothing. */
  signIn(side: Side, { spec, session, named, place = session?.within }: Presentation): SignIn {
    if (session?.identity !== undefined || session?.provider !== undefined) {
      const restrictedTo = [session.provider ?? []].flat().filter(({ org }) => side === "x" || org === "A");
      return { providers: restrictedTo, isUser: restrictedTo.length > 0, first: undefined, isAmbiguous: false };
    }
    const { own, others } = this.accepting(spec);
    const accepting = side === "x" ? [...own, ...others] : own;
    const only = accepting.length === 1 ? accepting[0] : undefined;
    const first = named === undefined ? only : accepting.find((provider) => provider === named);
    const asked = named === undefined ? accepting : accepting.filter((provider) => provider === named);
    const admitting = asked.filter((provider) => this.admits(provider, spec.subject));
    const isNew = (provider: Provider) => !provider.signedIn.has(spec.subject);
    const isElsewhere = named === undefined && place !== undefined && place !== first?.org;
    const signsIn = first !== undefined && admitting.includes(first) && isNew(first) && !isElsewhere;
    const providers = admitting.filter((provider) => !isNew(provider) || (signsIn && provider === first));
    const isUser = providers.length > 0 || (named === undefined && this.#matchesUser(side, spec));
    return {
      providers,
      isUser,
      first: signsIn ? first : undefined,
      isAmbiguous: admitting.some(isNew) && !isUser && first === undefined,
    };
  }

  /** Whether a token is one of its issuer for the platform, and of a user who exists. */
  #matchesUser(side: Side, spec: TokenSpec): boolean {
    const { issuer, subject, audiences } = spec;
    return (
      this.#users[side].has(userOf(issuer, subject)) &&
      audiences.includes("platform") &&
      verifies(publishedKeys[issuer], spec) &&
      this.providers.some((provider) => provider.issuer === issuer && (side === "x" || provider.org === "A"))
    );
  }

  /** Notes what providers have learned of the user of a token that was presented. */
  noteSignIn({ spec, session }: Presentation, { providers, first }: SignIn, isAtBoth: boolean): void {
    const { issuer, subject, hasEmail } = spec;
    if (first !== undefined) {
      first.signedIn.add(subject);
      this.#users.x.add(userOf(issuer, subject));
      if (first.org === "A") this.#users.y.add(userOf(issuer, subject));
      this.bindings.push({ org: first.org, folder: 0, role: first.role, to: userOf(issuer, subject) });
    }
    if (session !== undefined || !hasEmail) return;
    for (const { described } of providers) {
      described.x.add(subject);
      if (isAtBoth) described.y.add(subject);
    }
  }

  /** Whether tokens that were presented at x only have described users to A. */
  get isDescribedElsewhere(): boolean {
    return this.providers.some(({ org, described: { x, y } }) => org === "A" && x.size !== y.size);
  }

  admits(provider: Provider, subject: Subject): boolean {
    return (
      provider.secret === undefined ||
      this.entries.some((entry) => entry.provider === provider && entry.subject === subject && entry.isActive)
    );
  }

  isUserBound(org: Organisation, { issuer, subject }: Pick<TokenSpec, "issuer" | "subject">): boolean {
    return this.bindings.some((binding) => binding.org === org && binding.to === userOf(issuer, subject));
  }

  hasProvider(org: Organisation, issuer: IssuerName): boolean {
    return this.providers.some((provider) => provider.org === org && provider.issuer === issuer);
  }

  /** Whether an identity has a role that allows an operation, by a binding. */
  mayDo(identity: Identity, operation: OperationName, folder: Folder): boolean {
    const roles = rolesFor(operation);
    return this.bindings.some(
      (binding) =>
        binding.org === identity.org &&
        binding.to === identity.uid.x &&
        binding.folder <= folder &&
        roles.includes(binding.role),
    );
  }
}

/** How bindings name a user. */
export function userOf(issuer: IssuerName, subject: Subject): string {
  return `${issuer} ${subject}`;
}

function rolesFor(operation: OperationName): readonly RoleName[] {
  if (operation === "createRepo" || operation === "deleteRepo") return ["editor", "owner"];
  return ["owner"];
}

function matchesRule(rule: Rule, token: TokenSpec): boolean {
  const isFor = (audience: Audience | "any" | "") =>
    audience === "any" || token.audiences.includes(audience === "" ? "platform" : audience);
  if (!isFor(rule.audience)) return false;
  if (rule.kind === "keys")
    return rule.issuer === token.issuer && rule.subject === token.subject && verifies(rule.keys, token);
  return (
    (rule.issuer === "any" || rule.issuer === token.issuer) &&
    (rule.subject === "any" || rule.subject === token.subject) &&
    (rule.repo === "" || rule.repo === token.repo) &&
    (rule.repoPattern === "" || (token.repo !== "" && new RegExp(`^(?:${rule.repoPattern})$`).test(token.repo))) &&
    verifies(publishedKeys[token.issuer], token)
  );
}
