/** What principals do with their tokens: calls, exchanges, and what follows from these. */
import type { Json } from "../contract.ts";
import { type Answer, writesAtOnce } from "./installation.ts";
import { pickInvite, prepare } from "./operations.ts";
import { type Expected, type Run, tally } from "./run.ts";
import { at, isOk, type Presentation, type Session, type Side, type Sides, sides } from "./state.ts";
import { type Audience, publishedKeys, type TokenSpec } from "./tokens.ts";
import {
  type Operation,
  type Organisation,
  organisations,
  type Presented,
  type PrincipalsStep,
  type Step,
} from "./world.ts";

/** Who makes a call: a token of an issuer, or one that it was exchanged for. */
interface Principal {
  readonly spec: TokenSpec;
  readonly token: Sides<string>;
  readonly session?: Session;
}

type Acting = Exclude<PrincipalsStep, { do: "burst" }>;

/** The token that a step presents. */
function specOf({ state }: Run, about: Organisation, { like, pick, token }: Presented): TokenSpec {
  const org = like === "own" ? about : like;
  const expecting = [...state.identities, ...state.providers].filter((one) => one.org === org);
  const one = at(expecting, pick);
  if (one === undefined) return token;
  if ("client" in one) {
    const { issuer, client } = one;
    return {
      ...token,
      issuer,
      key: "published",
      namesKey: true,
      audiences: [...new Set([client, ...token.audiences])],
    };
  }
  const { rule } = one;
  const audience = rule.audience === "any" ? [] : [rule.audience === "" ? "platform" : rule.audience];
  const others = pick % 2 === 0 && audience.length > 0 ? [] : token.audiences;
  const fitting = {
    ...token,
    issuer: rule.issuer === "any" ? token.issuer : rule.issuer,
    subject: rule.subject === "any" ? token.subject : rule.subject,
    audiences: [...new Set([...audience, ...others])] as Audience[],
  };
  if (rule.kind === "keys") return { ...fitting, key: at(rule.keys, pick)!, namesKey: token.namesKey };
  return {
    ...fitting,
    key: "published",
    namesKey: true,
    repo: rule.repo || (rule.repoPattern && "acme") || token.repo,
  };
}

/** Runs a step. Returns whether it happened at both installations. */
export async function principalActs(run: Run, step: Acting): Promise<boolean> {
  if (step.do === "call") {
    const spec = specOf(run, step.org, step.by);
    const token = run.tokenOf(spec);
    return operate(run, step.org, { spec, token: { x: token, y: token } }, step.operation);
  }
  if (step.do === "exchange") return exchange(run, step);
  const { sessions } = run.state;
  const common = sessions.filter(({ token }) => token.y !== undefined);
  const session = at(step.org === "A" && step.session % 4 > 0 ? common : sessions, step.session);
  if (session === undefined) return false;
  const { spec, token, refresh } = session;
  switch (step.do) {
    case "use":
      return operate(run, step.org, { spec, token, session }, step.operation);
    case "narrow": {
      const { org } = step;
      const groups = run.group(org, step.folder);
      const narrowed = await present(run, {
        ...{ spec, session, place: org, token, what: "exchange to narrow" },
        about: (session.provider ?? session.identity)?.org ?? org, // which records it
        isAtBoth: org === "A" && token.y !== undefined,
        target: "/sts/exchange",
        body: (side) => ({ scopes: [groups[side]] }),
      });
      if (isOk(narrowed)) {
        const given = sides(narrowed, ({ body }) => body.token as string);
        run.state.sessions.push({ ...session, within: org, token: given, refresh: undefined });
      }
      return narrowed.y !== undefined;
    }
    case "refresh": {
      if (refresh === undefined) return false;
      const refreshed = await present(run, {
        ...{ spec, session, place: undefined, token: undefined, what: "refresh", about: undefined },
        isAtBoth: refresh.y !== undefined,
        target: "/sts/exchange_refresh_token",
        body: (side) => ({ refresh_token: refresh[side] }),
      });
      if (!isOk(refreshed)) session.refresh = undefined;
      else {
        session.token = sides(refreshed, ({ body }) => body.token.token);
        session.refresh = sides(refreshed, ({ body }) => body.refreshToken.token);
      }
      return refreshed.y !== undefined;
    }
    case "revoke": {
      if (refresh === undefined) return false;
      const isAtBoth = refresh.y !== undefined;
      await run.both(
        undefined,
        "revoke",
        (side, installation, headers) =>
          installation.call({ verb: "POST", target: "/sts/revoke", body: { token: refresh[side] }, headers }),
        { isAtBoth },
      );
      return isAtBoth;
    }
  }
}

/**
 * A call may sign its user in for the first time at a provider of A at one installation only: one that names no
 * provider where others accept the token too, and one that is made at x only. Then the user first names that provider
 * at both.
 */
async function signInAlike(run: Run, presented: Presentation, isAtBoth: boolean): Promise<void> {
  const { state } = run;
  const firstOf = (side: Side) => {
    const { first } = state.signIn(side, presented);
    return first?.org === "A" ? first : undefined;
  };
  const [x, y] = [firstOf("x"), isAtBoth ? firstOf("y") : undefined];
  const named = x ?? y;
  if (x === y || named === undefined) return;
  const { spec } = presented;
  if (y !== undefined) await refusedAsAmbiguous(run, spec);
  tally.signedInByName++;
  const token = run.tokenOf(spec);
  const { x: answer } = await present(run, {
    ...{ spec, named, place: "A", about: "A", isAtBoth: true, token: { x: token, y: token } },
    ...{ what: "exchange to sign in", target: "/sts/exchange" },
    body: (side) => ({ identity_provider: named.uid[side] }),
  });
  if (answer.status !== 200) run.violate("a user cannot sign in by name", JSON.stringify(answer));
}

/** A first sign-in where several accept the token and none is named. */
async function refusedAsAmbiguous(run: Run, spec: TokenSpec): Promise<void> {
  const { state } = run;
  const presented: Presentation = { spec, place: undefined };
  // The identities of a token count instead.
  if (!state.signIn("x", presented).isAmbiguous || organisations.some((org) => state.matching(org, spec).length > 0))
    return;
  const token = run.tokenOf(spec);
  const { x } = await present(run, {
    ...{ ...presented, about: undefined, isAtBoth: false, token: { x: token, y: undefined } },
    ...{ what: "exchange where several accept", target: "/sts/exchange", body: () => ({}) },
  });
  const text = JSON.stringify(x.body);
  const isRefused = x.status === 400 && text.includes("FAILED_PRECONDITION");
  if (!isRefused || state.providers.some(({ uid }) => text.includes(uid.x)))
    run.violate("exchange is not refused where several accept", `${x.status} ${text}`);
}

/** A request to the token service. */
interface StsRequest extends Presentation {
  readonly what: string;
  /** The organisation that has its record. */
  readonly about: Organisation | undefined;
  readonly isAtBoth: boolean;
  readonly target: string;
  readonly token: Sides<string> | undefined;
  body(side: Side): Json;
}

async function present(run: Run, request: StsRequest): Promise<Sides<Answer> & { readonly isKnown: boolean }> {
  const { what, about, isAtBoth, target, token, body } = request;
  await signInAlike(run, request, isAtBoth);
  const signIn = run.state.signIn("x", request);
  const answers = await run.both(
    about,
    what,
    (side, installation, headers) =>
      installation.call({ verb: "POST", target, body: body(side), token: token?.[side], headers }),
    { isAtBoth, signsInAt: signIn.first?.org },
  );
  run.state.noteSignIn(request, signIn, isAtBoth);
  return answers;
}

async function exchange(run: Run, step: Extract<Acting, { do: "exchange" }>): Promise<boolean> {
  const { state } = run;
  const { org, naming, pick } = step;
  const spec = specOf(run, org, step.by);
  const own = <T extends { readonly org: Organisation }>(all: readonly T[]) =>
    at(
      all.filter((one) => one.org === org),
      pick,
    );
  const provider = naming === "identity_provider" ? own(state.providers) : undefined;
  const identity = naming === "identity" ? own(state.identities) : undefined;
  if ((naming === "identity_provider" && provider === undefined) || (naming === "identity" && identity === undefined))
    return false;
  const about = naming === "nothing" || naming === "cap" ? undefined : org;
  const token = run.tokenOf(spec);
  const named: Record<typeof naming, (side: Side) => Json> = {
    nothing: () => ({}),
    cap: () => ({ cap: ["repo.list", "repo.create"] }),
    identity: (side) => ({ identity: identity!.uid[side] }),
    identity_provider: (side) => ({ identity_provider: provider!.uid[side] }),
    scopes: (side) => ({ scopes: [run.group(org, 0)[side]] }),
  };
  const answers = await present(run, {
    ...{ spec, named: provider, place: about, about, token: { x: token, y: token } },
    isAtBoth: about === undefined || about === "A",
    what: `exchange naming ${naming}`,
    target: "/sts/exchange",
    body: named[naming],
  });
  if (isOk(answers)) {
    const refresh = answers.x.body.refreshToken && sides(answers, ({ body }) => body.refreshToken as string);
    const given = sides(answers, ({ body }) => body.token as string);
    const within = naming === "scopes" ? org : undefined;
    state.sessions.push({ spec, naming, identity, provider, within, token: given, refresh });
  }
  return answers.y !== undefined;
}

/** Makes a call. */
async function operate(run: Run, org: Organisation, principal: Principal, operation: Operation): Promise<boolean> {
  const { state } = run;
  const { spec, token, session } = principal;
  const { name } = operation;
  const prepared = prepare(run, org, operation);
  if (prepared === undefined) return false;
  const isLookup = name === "lookup";
  // No invite of another organisation can be for a token that speaks for one identity alone: the call is that one's
  // own.
  const isOfIdentity = name === "acceptInvite" && session?.identity !== undefined;
  const about = isLookup ? undefined : isOfIdentity ? session.identity.org : org;
  const place = name === "acceptInvite" || isLookup ? undefined : org; // whose invite it is, is not known before
  const presented: Presentation = { spec, session, place };
  const isAtBoth = (org === "A" || isLookup) && token.y !== undefined;
  await signInAlike(run, presented, isAtBoth);
  const reason = org === "A" ? dependsOnOthers(run, principal, presented, operation) : undefined;
  if (reason !== undefined) {
    tally.excluded.set(reason, (tally.excluded.get(reason) ?? 0) + 1);
    return false;
  }
  if (!isAtBoth && (about === undefined || about === "A") && state.matching("A", spec).length > 0)
    run.isSeenElsewhere = true;
  const isKeyed = operation.isKeyed && (org === "A" || !mayBeOfA(run, spec));
  const expected = org === "A" ? expectedOf(run, principal, operation) : undefined;
  const kind = session === undefined ? "call" : `use of exchange naming ${session.naming}`;
  const signIn = state.signIn("x", presented);
  const answers = await run.both(
    about,
    `${kind}: ${name}`,
    async (side, installation, headers) => {
      const keyed = isKeyed ? { "idempotency-key": `key ${operation.pick % 2}`.replace(" ", "-") } : {};
      const options = { over: operation.over, headers: { ...headers, ...keyed } };
      const answer = await installation.method(prepared.method, prepared.request(side), token[side]!, options);
      return name === "readAudit" ? { ...answer, body: undefined } : answer;
    },
    { isAtBoth, expected, signsInAt: signIn.first?.org },
  );
  state.noteSignIn(presented, signIn, isAtBoth);
  if (isOk(answers)) prepared.done?.(answers);
  return isAtBoth;
}

/** Why an answer about A depends on what others store about its caller, where it may; undefined if it must not. */
function dependsOnOthers(
  { state }: Run,
  { spec, session, token }: Principal,
  presented: Presentation,
  { name, folder, pick }: Operation,
): string | undefined {
  const [x, y] = [state.signIn("x", presented), state.signIn("y", presented)];
  const isRestricted = session?.identity !== undefined || session?.provider !== undefined;
  const found = isRestricted ? [session.identity ?? []].flat() : state.matching("A", spec);
  const own = found.filter(({ org }) => org === "A");
  const isUserElsewhere = x.isUser && !y.isUser;
  const invite = name === "acceptInvite" ? pickInvite(state, "A", pick) : undefined;
  if (invite !== undefined && token.y === undefined) return "invite of A to a session of others";
  // Whoever has the code may accept an invite, once any organisation knows it.
  if (invite !== undefined && own.length === 0 && !y.isUser)
    return x.isUser || organisations.some((org) => state.mayKnow(org, spec))
      ? "invite of A to whom A does not know"
      : undefined;
  if (!isUserElsewhere) return undefined;
  // The user exists, and A has bound it, or an invite or terms take it.
  if (state.isUserBound("A", spec) && !state.hasProvider("A", spec.issuer)) return "user of others, bound by A";
  const isBindable = (at: number) => own.some((identity) => identity.folder <= at);
  if (invite !== undefined && (invite.hasEmail ? spec.hasEmail : !isBindable(invite.folder)))
    return "invite of A to a user of others";
  if (name === "acceptTerms" && !isBindable(folder)) return "terms accepted by a user of others";
  return undefined;
}

/**
 * Whom the records of A may name for a call: the identity that was allowed, else the oldest that matches, else the
 * user.
 */
function expectedOf(run: Run, { spec, session }: Principal, { name, folder }: Operation): Expected {
  const { state } = run;
  // A provider restricts to the user, an identity to itself.
  const isUserOnly = session?.naming === "identity_provider";
  const found = session?.identity === undefined ? state.matching("A", spec) : [session.identity];
  const matching = isUserOnly ? [] : found;
  const labelOf = (uid: string) => run.labels.x.get(uid)!;
  const labels = matching.map(({ uid }) => labelOf(uid.x));
  const user = labelOf(run.userUid(spec.issuer, spec.subject));
  const granted = matching.filter((identity) => state.mayDo(identity, name, folder)).map(({ uid }) => labelOf(uid.x));
  const mayUser = state.accepting(spec).own.length > 0 || state.isUserBound("A", spec) || labels.length === 0;
  const isSure = granted.length > 0 && !mayUser && !state.hasOtherGrants && name !== "acceptInvite";
  return {
    allowed: isSure ? granted : [...labels, ...(mayUser ? [user] : [])],
    denied: [labels[0] ?? user, ...granted, ...(state.hasOtherGrants ? labels : [])],
  };
}

/**
 * Whether A may ever know the principal of a token, with whatever claims. What it does elsewhere then counts for what
 * it may do at A: its rates, and what it has made once.
 */
function mayBeOfA({ world }: Run, spec: TokenSpec): boolean {
  const isPublished = publishedKeys[spec.issuer].includes(spec.key);
  return world.steps.some((step) => {
    if (step.org !== "A") return false;
    if (step.do === "provider") return isPublished && step.issuer === spec.issuer;
    if (step.do === "call" || step.do === "use") return isPublished && step.operation.name === "createIdentity";
    if (step.do !== "identity") return false;
    const { rule } = step;
    if (rule.kind === "keys" ? !rule.keys.includes(spec.key) : !isPublished) return false;
    return [spec.issuer, "any"].includes(rule.issuer) && [spec.subject, "any"].includes(rule.subject);
  });
}

/** Many calls of a principal of another organisation that A does not know. */
export async function burst(run: Run, step: Extract<Step, { do: "burst" }>): Promise<boolean> {
  const { state } = run;
  const { org, pick, kind } = step;
  const identity = at(
    state.identities.filter((identity) => identity.org === org),
    pick,
  );
  if (identity === undefined) return false;
  const { rule } = identity;
  const spec: TokenSpec = {
    issuer: rule.issuer === "any" ? "one" : rule.issuer,
    subject: rule.subject === "any" ? "ci" : rule.subject,
    key: rule.kind === "keys" ? rule.keys[0]! : "published",
    namesKey: true,
    audiences: [rule.audience === "" || rule.audience === "any" ? "platform" : rule.audience],
    groups: [],
    repo: rule.kind === "keys" ? "" : rule.repo,
    hasEmail: false,
  };
  if (mayBeOfA(run, spec)) return false;
  const token = run.tokenOf(spec);
  const about = { writes: org, exchanges: undefined, denials: "A" }[kind] as Organisation | undefined;
  const presented: Presentation = { spec, place: about };
  const signIn = state.signIn("x", presented);
  for (let i = 0; i < writesAtOnce + 10; i++) {
    const headers = run.requestId(about);
    if (kind === "exchanges")
      await run.installations.x.call({ verb: "POST", target: "/sts/exchange", body: {}, token, headers });
    else {
      const request = { parent: run.group(about!, 0).x, repo: { name: `many-${i}` } };
      await run.installations.x.method("CreateRepo", request, token, { headers });
    }
  }
  await run.noteEvents("burst", [about, signIn.first?.org]);
  state.noteSignIn(presented, signIn, false);
  return false;
}
