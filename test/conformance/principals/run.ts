/**
 * Runs a world at two installations: at x with all organisations, at y with A only. What is about A happens at both, at
 * the same time of the same clock, and must end the same.
 */
import { vi } from "vitest";
import { userIdentityUid } from "../../../src/new-uid.ts";
import { builtInRoleUid } from "../../../src/services/iam/built-in-roles.ts";
import type { Json } from "../contract.ts";
import { type Answer, type Installation, platformUrl } from "./installation.ts";
import { plainAnswer } from "./plain.ts";
import { isSuccess, type Side, type Sides, State, userOf } from "./state.ts";
import { type IssuerName, Issuers, issuers, keySetOf, type Subject, subjects, type TokenSpec } from "./tokens.ts";
import { type Folder, type Organisation, organisations, type Rule, type World } from "./world.ts";

/** What must not be. */
export interface Violation {
  /** The same for violations of one kind. */
  readonly kind: string;
  readonly text: string;
  /** The step that it was found in, from 1 on. */
  readonly step: number;
}

/** Whom A's records of a call may name as its caller: labels of identities; by how it ended. */
export interface Expected {
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
}

/** How a call is compared. */
interface Comparison {
  /** Whether it is made at both installations; by default what is about A. */
  readonly isAtBoth?: boolean;
  readonly expected?: Expected | undefined;
  /** Where it signs its caller in for the first time. */
  readonly signsInAt?: Organisation | undefined;
}

/** How many calls were compared, and how many were not. */
export const tally = {
  /** Calls and requests that both installations have answered the same. */
  compared: 0,
  /** Those of principals that had succeeded, by what they did. */
  succeeded: new Map<string, number>(),
  /** Calls about A by whom A does not know: with the others they are denied, without them they have no caller. */
  unknown: 0,
  /** Users that have named a provider of A for their first sign-in, since a call would have differed. */
  signedInByName: 0,
  /** Calls about A that were not made, by why their answers depend on others. */
  excluded: new Map<string, number>(),
};

/** A world stops at its first violation. */
export class Violated extends Error {
  readonly violation: Violation;
  constructor(violation: Violation) {
    super(violation.text);
    this.violation = violation;
  }
}

/** The ids of children begin with the time in ticks of 16 ms, modulo this time; a world ends before it is over. */
const tickRoundMs = 16 * 0x10000;
const stepMs = 20_000;
/** No world has more calls about A, so that the uids of what it makes sort by time. */
export const maxTurns = 50;

/** A world that runs, and how its steps make calls. */
export class Run {
  readonly name: string;
  readonly world: World;
  readonly state = new State();
  readonly issuers: Issuers;
  readonly installations: { readonly x: Installation; readonly y: Installation };
  readonly labels: { readonly x: Map<string, string>; readonly y: Map<string, string> } = {
    x: new Map(),
    y: new Map(),
  };
  readonly groups = new Map<Organisation, readonly Sides<string>[]>();
  /** Tokens of the owners. */
  readonly owners = new Map<Organisation, Sides<string>>();
  readonly #ownerUids = new Map<Organisation, Sides<string>>();
  /** What each request with an id is about; undefined: no organisation. */
  readonly about = new Map<string, Organisation | undefined>();
  /** What the requests of each time were about. */
  readonly times = new Map<number, readonly (Organisation | undefined)[]>();
  /** The ids of the requests that both installations got and A knows the caller of, with whom records may name. */
  readonly compared = new Map<string, Expected | undefined>();
  readonly beginMs: number;
  /** Whether something about A has happened at x only, that A may see the time of. */
  isSeenElsewhere = false;
  #step = 0;
  #calls = 0;
  readonly #seenEvents = new Set<string>();

  private constructor(name: string, world: World, installations: Run["installations"], issuers: Issuers) {
    this.name = name;
    this.world = world;
    this.installations = installations;
    this.issuers = issuers;
    this.beginMs = (Math.floor(Date.now() / tickRoundMs) + 1) * tickRoundMs;
    vi.setSystemTime(this.beginMs);
  }

  /** Begins a world: its issuers, and organisations with two folders and an owner each. */
  static async begin(name: string, world: World, installations: Run["installations"]): Promise<Run> {
    const run = new Run(name, world, installations, await Issuers.start(name));
    const used = organisations.filter((org) => org === "A" || world.steps.some((step) => step.org === org));
    const made = await Promise.all(used.map(() => run.#organisation("x")));
    made.sort(([a], [b]) => (a! < b! ? -1 : 1));
    const [ofA] = made.splice(Math.min(world.rank, made.length - 1), 1);
    const alone = await run.#organisation("y");
    run.#enter("A", { x: ofA!, y: alone });
    for (const [i, org] of used.slice(1).entries()) run.#enter(org, { x: made[i]!, y: undefined });
    await run.renewOwners();
    for (const issuer of issuers)
      for (const subject of subjects)
        for (const side of ["x", "y"] as const)
          run.labels[side].set(run.userUid(issuer, subject), `<user ${issuer} ${subject}>`);
    await run.tick();
    await run.noteEvents("beginning", organisations);
    return run;
  }

  /** An organisation: its uid, those of its folders, and that of its owner. */
  async #organisation(side: Side): Promise<string[]> {
    const { running } = this.installations[side];
    const admin = await running.mintToken(running.installed!.administratorUid, 3600);
    const make = async (method: string, request: Json) => {
      const { status, body } = await this.installations[side].method(method, request, admin);
      if (status !== 200) throw new Error(`${method}: ${JSON.stringify(body)}`);
      return body.uid as string;
    };
    const group = (parent: string) => make("CreateGroup", { parent, group: { name: "group" } });
    const root = await group("");
    const folder = await group(root);
    const inner = await group(folder);
    const claimMatch = { issuer: "https://owners.example", subject: "owner" };
    const owner = await make("CreateIdentity", { parent: root, identity: { name: "owner", claimMatch } });
    await make("CreateRoleBinding", {
      parent: root,
      roleBinding: { identityUid: owner, roleUid: builtInRoleUid("owner") },
    });
    return [root, folder, inner, owner];
  }

  #enter(org: Organisation, { x, y }: Sides<string[]>): void {
    const names = [`<${org}>`, `<${org}/folder>`, `<${org}/folder/inner>`, `<owner of ${org}>`];
    for (const [i, name] of names.entries()) {
      this.labels.x.set(x[i]!, name);
      if (y !== undefined) this.labels.y.set(y[i]!, name);
    }
    this.groups.set(
      org,
      [0, 1, 2].map((i) => ({ x: x[i]!, y: y?.[i] })),
    );
    this.#ownerUids.set(org, { x: x[3]!, y: y?.[3] });
  }

  /** Gives the owners new tokens. */
  async renewOwners(): Promise<void> {
    const { x, y } = this.installations;
    for (const [org, uid] of this.#ownerUids)
      this.owners.set(org, {
        x: await x.running.mintToken(uid.x, 3600),
        y: uid.y && (await y.running.mintToken(uid.y, 3600)),
      });
  }

  group(org: Organisation, folder: Folder): Sides<string> {
    return this.groups.get(org)![folder]!;
  }

  /** The uid that LookupIdentity answers. */
  userUid(issuer: IssuerName, subject: Subject): string {
    return userIdentityUid(this.issuers.url(issuer), subject);
  }

  /** How bindings name an identity, by its uid with the others. */
  nameOf(uid: string): string {
    const users = issuers.flatMap((issuer) => subjects.map((subject) => [issuer, subject] as const));
    const user = users.find(([issuer, subject]) => this.userUid(issuer, subject) === uid);
    return user === undefined ? uid : userOf(...user);
  }

  /** The uid of an organisation that is not to be named to A, if a text names one. */
  foreignIn(text: string): Organisation | undefined {
    return organisations.find((org) => org !== "A" && this.groups.has(org) && text.includes(this.group(org, 0).x));
  }

  tokenOf(spec: TokenSpec): string {
    return this.issuers.token(spec, platformUrl, this.beginMs, tickRoundMs / 1000);
  }

  ruleOf(rule: Rule): Json {
    const { issuers } = this;
    const audience = rule.audience === "platform" ? platformUrl : rule.audience;
    if (rule.kind === "keys") {
      const { subject, keys } = rule;
      const expirationTime = new Date(this.beginMs + 86_400_000).toISOString();
      const audiences = audience === "" ? {} : { audiences: [audience] };
      return {
        staticKeys: {
          issuer: issuers.url(rule.issuer),
          subject,
          issuerKeys: keySetOf(keys),
          expirationTime,
          ...audiences,
        },
      };
    }
    return {
      claimMatch: {
        ...(rule.issuer === "any" ? { issuerPattern: issuers.pattern } : { issuer: issuers.url(rule.issuer) }),
        ...(rule.subject === "any" ? { subjectPattern: ".*" } : { subject: rule.subject }),
        ...(audience === "any" ? { audiencePattern: ".*" } : audience === "" ? {} : { audience }),
        ...(rule.repo !== "" && { claims: { repo: rule.repo } }),
        ...(rule.repoPattern !== "" && { claimPatterns: { repo: rule.repoPattern } }),
      },
    };
  }

  /** The id of the next request. */
  requestId(about: Organisation | undefined): Record<string, string> {
    const id = `${this.name}-${this.#step}-${this.#calls++}`;
    this.about.set(id, about);
    this.times.set(Date.now(), [...(this.times.get(Date.now()) ?? []), about]);
    return { "x-request-id": id };
  }

  /** Makes a call about an organisation where it is; what is about A must end the same at both. */
  async both(
    org: Organisation | undefined,
    what: string,
    make: (side: Side, installation: Installation, headers: Record<string, string>) => Promise<Answer>,
    { isAtBoth = org === "A", expected, signsInAt }: Comparison = {},
  ): Promise<Sides<Answer> & { readonly isKnown: boolean }> {
    const headers = this.requestId(org);
    const [x, y] = await Promise.all([
      make("x", this.installations.x, headers),
      isAtBoth ? make("y", this.installations.y, headers) : undefined,
    ]);
    // A user who is new to all must name a provider where A has several; one who has signed in elsewhere need not.
    const isNew = (answer: Answer) => JSON.stringify(answer.body ?? "").includes("IDENTITY_PROVIDER_NEEDED");
    const isKnown = y !== undefined && y.status !== 401 && y.status !== 16 && (!isNew(y) || !isSuccess(x));
    const created = (answer: Answer | undefined): string | undefined => answer?.body?.uid;
    const label = `<made by step ${this.#step}>`;
    for (const [side, answer] of [
      ["x", x],
      ["y", y],
    ] as const) {
      const uid = created(answer);
      if (typeof uid === "string" && !this.labels[side].has(uid)) this.labels[side].set(uid, label);
    }
    for (const answer of [x, y])
      if (answer !== undefined && (answer.status >= 500 || [2, 13, 14].includes(answer.status)))
        this.violate(`bug: ${what}`, JSON.stringify(answer));
    await this.noteEvents(what, [org, signsInAt]);
    if (!isKnown) {
      if (y === undefined) return { x, y, isKnown };
      tally.unknown++;
      const isDenied = [401, 403, 7, 16].includes(x.status);
      const isEmpty = isSuccess(x) && !JSON.stringify(x.body ?? "").includes(this.group("A", 0).x);
      if (org === "A" && !isDenied && !isEmpty)
        this.violate(`answer to whom A does not know: ${what} ${x.status}`, plainAnswer(x, this.labels.x));
      return { x, y, isKnown };
    }
    this.compared.set(headers["x-request-id"]!, expected);
    tally.compared++;
    if (isSuccess(y) && !/^(?:owner|scim) /.test(what)) tally.succeeded.set(what, (tally.succeeded.get(what) ?? 0) + 1);
    const [withOthers, alone] = [plainAnswer(x, this.labels.x), plainAnswer(y, this.labels.y)];
    if (withOthers !== alone)
      this.violate(
        `answers differ: ${what} ${y.status} becomes ${x.status}`,
        `with the others: ${withOthers}\nwithout them:    ${alone}`,
      );
    const foreign = this.foreignIn(JSON.stringify(x.body ?? ""));
    if (foreign !== undefined) this.violate(`answer names another: ${what}`, `${foreign} in ${withOthers}`);
    return { x, y, isKnown };
  }

  /** Reads the new events. A call causes some where it is about, and where it signs its caller in. */
  async noteEvents(what: string, places: readonly (Organisation | undefined)[]): Promise<void> {
    const columns = ["type", "subject"];
    for (const { id, columns: event } of await this.installations.x.log("events", columns, Date.now())) {
      if (this.#seenEvents.has(id)) continue;
      this.#seenEvents.add(id);
      const at = this.#organisationOf(String(event.subject));
      if (at !== undefined && !places.includes(at))
        this.violate(`event elsewhere: ${what}`, `${event.type} in ${at} by a call about ${places[0] ?? "nobody"}`);
    }
  }

  /** The organisation that a uid is in. */
  #organisationOf(uid: string): Organisation | undefined {
    return [...this.groups].find(([, [root]]) => uid === root!.x || uid.startsWith(`${root!.x}/`))?.[0];
  }

  violate(kind: string, text: string): never {
    throw new Violated({ kind, step: this.#step, text: `step ${this.#step}: ${kind}\n${text}` });
  }

  beginStep(number: number): void {
    this.#step = number;
  }

  get step(): number {
    return this.#step;
  }

  /** The clock moves after each call about A: what the others do in between takes no time. */
  async tick(): Promise<void> {
    vi.setSystemTime(Date.now() + stepMs);
  }

  end(): void {
    this.issuers.close();
  }
}
