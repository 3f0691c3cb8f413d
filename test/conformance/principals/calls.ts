/** What principals do with their tokens: calls, exchanges, and what follows from these. */
import type { Json } from "../contract.ts";
import { type Answer, writesAtOnce } from "./installation.ts";
import { prepare } from "./operations.ts";
import type { Expected, Run } from "./run.ts";
import { at, isOk, type Provider, type Session, type Side, type Sides, sides } from "./state.ts";
import type { Audience, TokenSpec } from "./tokens.ts";
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
  const { spec, token } = session;
  switch (step.do) {
    case "use":
      return operate(run, step.org, { spec, token, session }, step.operation);
    case "narrow": {
      const isAtBoth = step.org === "A" && token.y !== undefined;
      if (!maySignIn(run, step.org, spec)) return false;
      const narrowed = await sts(
        run,
        spec,
        step.org,
        "exchange to narrow",
        isAtBoth,
        "/sts/exchange",
        token,
        (side) => ({
          scopes: [run.group(step.org, step.folder)[side] ?? "0".repeat(40)],
        }),
      );
      if (isOk(narrowed)) {
        const given = sides(narrowed, ({ body }) => body.token as string);
        run.state.sessions.push({ ...session, token: given, refresh: undefined });
      }
      return isAtBoth;
    }
    case "refresh": {
      const { refresh } = session;
      if (refresh === undefined) return false;
      const isAtBoth = refresh.y !== undefined;
      const path = "/sts/exchange_refresh_token";
      const answers = await sts(run, spec, undefined, "refresh", isAtBoth, path, undefined, (side) => ({
        refresh_token: refresh[side],
      }));
      if (!isOk(answers)) session.refresh = undefined;
      else {
        session.token = sides(answers, ({ body }) => body.token.token);
        session.refresh = sides(answers, ({ body }) => body.refreshToken.token);
      }
      return isAtBoth;
    }
    case "revoke": {
      const { refresh } = session;
      if (refresh === undefined) return false;
      const isAtBoth = refresh.y !== undefined;
      await sts(run, spec, undefined, "revoke", isAtBoth, "/sts/revoke", undefined, (side) => ({
        token: refresh[side],
      }));
      return isAtBoth;
    }
  }
}

/**
 * Whether a call may be compared: not one whose principal may sign in for the first time where several accept it, or
 * whose user A has bound while others let it in and A does not. Not one about others, if it might sign in at A.
 */
function maySignIn(run: Run, org: Organisation | undefined, spec: TokenSpec, named?: Provider): boolean {
  const { own, others } = run.state.accepting(spec);
  const isNew = own.some((provider) => !run.state.hasSignedIn(provider, spec.subject));
  if (org !== undefined && org !== "A") return !isNew;
  if (named !== undefined) return true;
  if (own.length === 0 && others.length > 0 && run.state.isUserBound("A", spec)) return false;
  return !isNew || own.length + others.length === 1;
}

/** Notes the providers at which a principal may have signed in, and what A may see of it at one installation only. */
function noteUse(run: Run, org: Organisation | undefined, spec: TokenSpec, isAtBoth: boolean): void {
  const { own, others } = run.state.accepting(spec);
  if (!isAtBoth && own.length > 0) run.isReportedElsewhere = true;
  if (!isAtBoth && (org === undefined || org === "A")) run.isSeenElsewhere = true;
  for (const provider of [...own, ...others]) provider.isUsed = true;
}

/** Notes where a principal has signed in by a call that both installations have answered. */
function noteSignIn(run: Run, spec: TokenSpec, named?: Provider): void {
  const { own } = run.state.accepting(spec);
  const provider = named ?? (own.length === 1 ? own[0] : undefined);
  if (provider !== undefined) run.state.signIn(provider, spec.subject);
}

/**
 * The other organisation whose provider is the only one that accepts a token. Its user signs in there, whatever it is
 * about.
 */
function onlyOther(run: Run, spec: TokenSpec): Organisation | undefined {
  const { own, others } = run.state.accepting(spec);
  return own.length === 0 && others.length === 1 ? others[0]!.org : undefined;
}

function sts(
  run: Run,
  spec: TokenSpec,
  org: Organisation | undefined,
  what: string,
  isAtBoth: boolean,
  target: string,
  token: Sides<string> | undefined,
  body: (side: Side) => Json,
): Promise<Sides<Answer> & { readonly isKnown: boolean }> {
  return run.both(
    org,
    what,
    (side, installation, headers) =>
      installation.call({ verb: "POST", target, body: body(side), token: token?.[side], headers }),
    { isAtBoth, maySignInAt: onlyOther(run, spec) },
  );
}

async function exchange(run: Run, step: Extract<Acting, { do: "exchange" }>): Promise<boolean> {
  const { state } = run;
  const { org, naming, pick } = step;
  const spec = specOf(run, org, step.by);
  const provider =
    naming === "identity_provider"
      ? at(
          state.providers.filter((provider) => provider.org === org),
          pick,
        )
      : undefined;
  const identity =
    naming === "identity"
      ? at(
          state.identities.filter((identity) => identity.org === org),
          pick,
        )
      : undefined;
  if ((naming === "identity_provider" && provider === undefined) || (naming === "identity" && identity === undefined))
    return false;
  const about = naming === "nothing" || naming === "cap" ? undefined : org;
  const isAtBoth = about === undefined || about === "A";
  const token = run.tokenOf(spec);
  const both = { x: token, y: token };
  const named: Record<typeof naming, (side: Side) => Json> = {
    nothing: () => ({}),
    cap: () => ({ cap: ["repo.list", "repo.create"] }),
    identity: (side) => ({ identity: identity!.uid[side] }),
    identity_provider: (side) => ({ identity_provider: provider!.uid[side] }),
    scopes: (side) => ({ scopes: [run.group(org, 0)[side]] }),
  };
  if (!maySignIn(run, about, spec, provider)) {
    if (about === undefined) await refusedAsAmbiguous(run, spec, both);
    return false;
  }
  const answers = await sts(
    run,
    spec,
    about,
    `exchange naming ${naming}`,
    isAtBoth,
    "/sts/exchange",
    both,
    named[naming],
  );
  if (!isOk(answers)) return isAtBoth;
  if (answers.isKnown) noteSignIn(run, spec, provider);
  const refresh = answers.x.body.refreshToken && sides(answers, ({ body }) => body.refreshToken as string);
  const given = sides(answers, ({ body }) => body.token as string);
  state.sessions.push({ spec, naming, identity, isAbout: about, token: given, refresh });
  return isAtBoth;
}

/** A first sign-in where several accept the token and none is named. */
async function refusedAsAmbiguous(run: Run, spec: TokenSpec, token: Sides<string>): Promise<void> {
  const { own, others } = run.state.accepting(spec);
  const all = [...own, ...others];
  // Only where nobody may know the user, nobody provisions, and the token has no identities that count instead.
  if (all.length < 2 || all.some(({ secret, isUsed }) => secret !== undefined || isUsed)) return;
  if (organisations.some((org) => run.state.matching(org, spec).length > 0)) return;
  run.isSeenElsewhere = true;
  const { x } = await sts(
    run,
    spec,
    undefined,
    "exchange where several accept",
    false,
    "/sts/exchange",
    token,
    () => ({}),
  );
  const text = JSON.stringify(x.body);
  const isRefused = x.status === 400 && text.includes("FAILED_PRECONDITION");
  if (!isRefused || all.some(({ uid }) => text.includes(uid.x)))
    run.violate("exchange is not refused where several accept", `${x.status} ${text}`);
}

/** Makes a call. */
async function operate(run: Run, org: Organisation, principal: Principal, operation: Operation): Promise<boolean> {
  const { state } = run;
  const { spec, token, session } = principal;
  const prepared = prepare(run, org, operation);
  if (prepared === undefined || !maySignIn(run, org, spec)) return false;
  // Whom A does not know may accept an invite of A, and is then known with the others only.
  if (operation.name === "acceptInvite" && org === "A" && (token.y === undefined || !state.isKnown(spec))) return false;
  const isLookup = operation.name === "lookup";
  const isAtBoth = (org === "A" || isLookup) && token.y !== undefined;
  noteUse(run, isLookup ? undefined : org, spec, isAtBoth);
  const isKeyed = operation.isKeyed && (org === "A" || !state.isKnown(spec));
  const expected = org === "A" ? expectedOf(run, principal, operation) : undefined;
  const kind = session === undefined ? "call" : `use of exchange naming ${session.naming}`;
  const answers = await run.both(
    isLookup ? undefined : org,
    `${kind}: ${operation.name}`,
    async (side, installation, headers) => {
      const keyed = isKeyed ? { "idempotency-key": `key ${operation.pick % 2}`.replace(" ", "-") } : {};
      const options = { over: operation.over, headers: { ...headers, ...keyed } };
      const answer = await installation.method(prepared.method, prepared.request(side), token[side]!, options);
      return operation.name === "readAudit" ? { ...answer, body: undefined } : answer;
    },
    { isAtBoth, expected, maySignInAt: onlyOther(run, spec) },
  );
  if (answers.isKnown) noteSignIn(run, spec);
  if (isOk(answers)) prepared.done?.(answers);
  return isAtBoth;
}

/** Whom the records of A may name for a call: the identity that was allowed, else the oldest that matches, else the user. */
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
  if (state.isKnown(spec)) return false;
  const token = run.tokenOf(spec);
  const about = { writes: org, exchanges: undefined, denials: "A" }[kind] as Organisation | undefined;
  for (let i = 0; i < writesAtOnce + 10; i++) {
    const headers = run.requestId(about);
    if (kind === "exchanges")
      await run.installations.x.call({ verb: "POST", target: "/sts/exchange", body: {}, token, headers });
    else {
      const request = { parent: run.group(about!, 0).x, repo: { name: `many-${i}` } };
      await run.installations.x.method("CreateRepo", request, token, { headers });
    }
  }
  await run.noteEvents();
  return false;
}
