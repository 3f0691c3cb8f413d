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

/** Whether a call has succeeded, over whatever protocol. */
export function isOk({ x, y }: Sides<Answer>): boolean {
  const isGood = ({ status }: Answer) => status === 0 || (status >= 200 && status < 300);
  return isGood(x) && (y === undefined || isGood(y));
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
  /** Its token for provisioning. */
  secret: Sides<string> | undefined;
  /** Whether a token may have been accepted there. */
  isUsed?: boolean;
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
  readonly identity: Identity | undefined;
  readonly isAbout: Organisation | undefined;
  token: Sides<string>;
  refresh: Sides<string> | undefined;
}

/** Everything that exists. */
export class State {
  readonly identities: Identity[] = [];
  readonly providers: Provider[] = [];
  readonly entries: Entry[] = [];
  readonly invites: Made[] = [];
  readonly repos: Made[] = [];
  readonly bindings: Binding[] = [];
  readonly sessions: Session[] = [];
  /** Users that certainly have signed in: provider and subject. */
  readonly #signedIn = new Set<string>();
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

  /** Whether A knows a token. */
  isKnown(token: TokenSpec): boolean {
    return this.matching("A", token).length > 0 || this.accepting(token).own.length > 0;
  }

  hasSignedIn(provider: Provider, subject: Subject): boolean {
    return this.#signedIn.has(`${provider.uid.x} ${subject}`);
  }

  signIn(provider: Provider, subject: Subject): void {
    if (this.admits(provider, subject)) this.#signedIn.add(`${provider.uid.x} ${subject}`);
  }

  signOut(provider: Provider, subject: Subject): void {
    this.#signedIn.delete(`${provider.uid.x} ${subject}`);
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
