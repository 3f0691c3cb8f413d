/** `platform whoami`: the identity, organisation, roles and expiry of the token that commands use. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Command, Option } from "commander";
import { claimsOf, exchangeToken, PlatformError, revokeToken } from "../../client/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { printable, printableJson } from "../../log-text.ts";
import { userIdentityUid } from "../../new-uid.ts";
import { isUid, rootOf } from "../../uid.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { expiryOf, issuerOf } from "./claims.ts";
import { identitiesOf, principalOf } from "./principal.ts";
import { expiryText } from "./remaining-time.ts";
import { callUnlessDenied, type HeldRole, listByUids, type Named, namedBy, rolesOf } from "./roles.ts";

/** What it prints with `-o json`. */
interface WhoAmI {
  readonly server: string;
  readonly profile?: string | undefined;
  /** uid; the name only where the caller may get the identity, the email also where the token has it. */
  readonly identity: { readonly uid: string; readonly name?: string; readonly email?: string };
  /**
   * For a token that names no identity, which acts as every one that it matches: `identity` and these are the user of
   * its issuer and subject, if known, and the identities with exactly these that the caller may list.
   */
  readonly alsoActsAs?: readonly Named[];
  /** Who issued the token that was signed in with. */
  readonly issuer?: string | undefined;
  /** Whom that token is about. */
  readonly subject?: string | undefined;
  /** The root groups of the identity and of its roles. */
  readonly organisations: readonly Named[];
  /** undefined where the caller may list none. */
  readonly roles?: readonly HeldRole[] | undefined;
  /** false where there may be other roles, because the caller may not list all. */
  readonly rolesAreComplete: boolean;
  /** RFC 3339. */
  readonly expireTime?: string | undefined;
}

const unlisted = "the identities that the token matches, if any; you may list none of its issuer and subject";

export function makeCommand(): Command {
  const command = withSession(new Command("whoami")).addOption(
    new Option("-o, --output <FORMAT>", "how to print").choices(["text", "json"]).default("text"),
  );
  return command.action(() =>
    inSession(command, async (session) => {
      const who = await whoAmI(session);
      if (command.opts<{ output: string }>().output === "json") console.log(printableJson(who, 2));
      else for (const line of linesOf(who)) console.log(line);
    }),
  );
}

async function whoAmI(session: Session): Promise<WhoAmI> {
  const token = await session.token?.token({ server: session.server });
  if (token === undefined) throw new CommandFailure(`nobody is signed in to ${session.server}; use: platform login`, 4);
  const claims = await platformClaims(session, token);
  const uid = textClaim(claims, "sub") ?? "";
  const idp = textClaim(claims, "idp");
  const { iss, sub } = (claims.act ?? {}) as JsonObject;
  const namesOne = idp !== undefined || claims.identity !== undefined;
  const principal = namesOne ? undefined : principalOf(uid, iss, sub);
  const matching = principal === undefined ? [] : await identitiesOf(session, principal);
  const speakers = [
    { uid, identityProvider: idp, externalGroups: textsOf(claims.groups) },
    ...matching.map((match) => ({ uid: match.uid, externalGroups: [] })),
  ];
  const [identity, ...found] = await Promise.all([
    callUnlessDenied(session, "platform.iam.v2.IdentitiesService", "getIdentity", { uid }),
    ...speakers.map((facts) => rolesOf(session, facts)),
  ]);
  const isKnown = identity !== undefined || found[0]!.held.length > 0 || matching.length === 0;
  const actors = [...(isKnown ? [namedBy(identity === undefined ? [] : [identity], uid)] : []), ...matching];
  const held = distinct(found.flatMap((roles) => roles.held));
  // Patterns of identities may match a principal, too.
  const areComplete = principal === undefined && found.every((roles) => roles.areComplete);
  // A user of an identity provider belongs to no group.
  const places = [
    speakers.map((facts) => facts.uid).filter((it) => it.includes("/")),
    idp ?? [],
    held.map(({ group }) => group.uid),
  ].flat();
  const roots = [...new Set(places.map(rootOf))];
  const groups = await listByUids(session, ["platform.iam.v2.GroupsService", "listGroups", "groups"], roots);
  const expireTimeMs = expiryOf(token);
  const email = identity?.email || textClaim(claims, "email");
  return {
    server: session.server,
    profile: session.profile,
    identity: { ...actors[0]!, ...(email && { email: String(email) }) },
    ...(principal && { alsoActsAs: actors.slice(1) }),
    issuer: issuerOf(token),
    subject: typeof sub === "string" ? sub : undefined,
    organisations: roots.map((root) => namedBy(groups, root)),
    roles: held.length === 0 && !areComplete ? undefined : held.map((it) => withGroupName(it, groups)),
    rolesAreComplete: areComplete,
    expireTime: expireTimeMs === undefined ? undefined : new Date(expireTimeMs).toISOString(),
  };
}

/** The roles, each once: two identities may hold the same. */
function distinct(held: readonly HeldRole[]): HeldRole[] {
  const byUids = new Map(held.map((it) => [`${it.role.uid} ${it.group.uid} ${it.externalGroup ?? ""}`, it]));
  return [...byUids.values()];
}

function withGroupName(held: HeldRole, groups: readonly JsonObject[]): HeldRole {
  return held.group.name === undefined ? { ...held, group: namedBy(groups, held.group.uid) } : held;
}

/** The claims of a token of the platform. That of another issuer is exchanged for one. */
async function platformClaims({ server }: Session, token: string): Promise<Readonly<Record<string, unknown>>> {
  const claims = claimsOf(token);
  const { iss, sub } = claims;
  if (typeof sub === "string" && isUid(sub)) return claims;
  try {
    const { token: own, refreshToken } = await exchangeToken({ server }, token);
    if (refreshToken !== undefined) await revokeToken({ server }, refreshToken);
    return claimsOf(own);
  } catch (error) {
    const mustNameOne = error instanceof PlatformError && error.code === Code.FailedPrecondition;
    if (!mustNameOne || typeof iss !== "string" || typeof sub !== "string") throw error;
    // It is exchanged only for one that names an identity or a provider. Calls take it as it is.
    return { sub: userIdentityUid(iss, sub), act: { iss, sub } };
  }
}

function textClaim(claims: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = claims[name];
  return typeof value === "string" ? value : undefined;
}

function textsOf(claim: unknown): string[] {
  return Array.isArray(claim) ? claim.filter((item) => typeof item === "string") : [];
}

function linesOf(who: WhoAmI): string[] {
  const { server, profile, identity, alsoActsAs, issuer, subject, organisations, roles, rolesAreComplete } = who;
  const { expireTime } = who;
  const isUnknown = alsoActsAs?.length === 0 && roles === undefined && !identity.uid.includes("/");
  const rows: readonly (readonly [string, readonly (string | undefined)[]])[] = [
    ["server", [server]],
    ["profile", [profile ?? "none; the token was given"]],
    ["identity", [textOf(identity)]],
    ["also acts as", isUnknown ? [unlisted] : (alsoActsAs ?? []).map(textOf)],
    ["email", [identity.email]],
    ["issuer", [issuer]],
    ["subject", [subject]],
    ["organisation", organisations.map(textOf)],
    ["roles", linesOfRoles(roles, rolesAreComplete)],
    ["token expires", expireTime === undefined ? [] : [expiryText(Date.parse(expireTime))]],
  ];
  return rows.flatMap(([title, values]) =>
    values
      .filter((value) => value !== undefined)
      .map((value, index) => `${(index === 0 ? title : "").padEnd(15)}${printable(value)}`),
  );
}

function linesOfRoles(roles: WhoAmI["roles"], areComplete: boolean): string[] {
  if (roles === undefined) return ["unknown: you may not list your roles"];
  if (roles.length === 0) return ["none"];
  const lines = roles.map(({ role, group, externalGroup }) => {
    const why = externalGroup === undefined ? "" : `, as a member of ${externalGroup}`;
    return `${textOf(role)} at ${textOf(group)}${why}`;
  });
  return areComplete ? lines : [...lines, "maybe others: you may not list all of your roles"];
}

function textOf({ uid, name }: Named): string {
  return name === undefined ? uid : `${name} (${uid})`;
}
