/** `platform whoami`: the identity, organisation, roles and expiry of the token that commands use. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Command, Option } from "commander";
import { exchangeToken, PlatformError, revokeToken } from "../../client/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import { isUid } from "../../uid.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { jsonOf } from "../print/print.ts";
import { callMethod } from "../session/call.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { expiryOf, issuerOf, subjectOf } from "./claims.ts";
import { remainingTime } from "./remaining-time.ts";

/** What it prints with `-o json`. */
interface WhoAmI {
  readonly server: string;
  readonly profile?: string | undefined;
  /** uid; the name and the email only where the caller may get the identity. */
  readonly identity: { readonly uid: string; readonly name?: string; readonly email?: string };
  /** Who issued the token that was signed in with. */
  readonly issuer?: string | undefined;
  /** The root groups of the identity and of its roles. */
  readonly organisations: readonly Named[];
  /** undefined where the caller may not list them. */
  readonly roles?: readonly { readonly role: Named; readonly group: Named }[] | undefined;
  /** RFC 3339. */
  readonly expireTime?: string | undefined;
}

interface Named {
  readonly uid: string;
  readonly name?: string;
}

const maxRoles = 200;

export function whoamiCommand(): Command {
  const command = withSession(new Command("whoami")).addOption(
    new Option("-o, --output <FORMAT>", "how to print").choices(["text", "json"]).default("text"),
  );
  return command.action(() =>
    inSession(command, async (session) => {
      const who = await whoAmI(session);
      if (command.opts<{ output: string }>().output === "json") console.log(JSON.stringify(who, undefined, 2));
      else for (const line of linesOf(who)) console.log(line);
    }),
  );
}

async function whoAmI(session: Session): Promise<WhoAmI> {
  const token = await session.token?.token({ server: session.server });
  if (token === undefined) throw new CommandFailure(`nobody is signed in to ${session.server}; use: platform login`, 4);
  const uid = await identityOf(session, token);
  const [identity, bindings] = await Promise.all([
    callUnlessDenied(session, "IdentitiesService", "getIdentity", { uid }),
    callUnlessDenied(session, "RoleBindingsService", "listRoleBindings", { identity: uid, pageSize: maxRoles }),
  ]);
  const roles = bindings && (bindings.roleBindings as readonly JsonObject[]).map(roleOf);
  // A user of an identity provider belongs to no group.
  const roots = [...(uid.includes("/") ? [uid] : []), ...(roles ?? []).map(({ group }) => group.uid)];
  const expireTimeMs = expiryOf(token);
  return {
    server: session.server,
    profile: session.profile,
    identity: { uid, ...named(identity) },
    issuer: issuerOf(token),
    organisations: await groupsWith(session, [...new Set(roots.map((it) => it.split("/")[0]!))]),
    roles,
    expireTime: expireTimeMs === undefined ? undefined : new Date(expireTimeMs).toISOString(),
  };
}

function roleOf({ role, group, roleUid, groupUid }: JsonObject): { readonly role: Named; readonly group: Named } {
  return {
    role: { uid: String(roleUid ?? ""), ...(role as object) },
    group: { uid: String(groupUid ?? ""), ...(group as object) },
  };
}

async function groupsWith(session: Session, ids: readonly string[]): Promise<readonly Named[]> {
  if (ids.length === 0) return [];
  const request = { uidp: { ids }, pageSize: maxRoles };
  const found = await callUnlessDenied(session, "GroupsService", "listGroups", request);
  const groups = (found?.groups ?? []) as readonly JsonObject[];
  return ids.map((uid) => ({ uid, ...named(groups.find((group) => group.uid === uid)) }));
}

function named(resource: JsonObject | undefined): { readonly name?: string; readonly email?: string } {
  const { name, email } = (resource ?? {}) as { name?: string; email?: string };
  return { ...(name && { name }), ...(email && { email }) };
}

/** The uid in `sub`. The token of another issuer has none, and is exchanged for one that has. */
async function identityOf({ server }: Session, token: string): Promise<string> {
  const subject = subjectOf(token);
  if (subject !== undefined && isUid(subject)) return subject;
  const { token: own, refreshToken } = await exchangeToken({ server }, token);
  if (refreshToken !== undefined) await revokeToken({ server }, refreshToken);
  return subjectOf(own) ?? "";
}

/** The JSON of a response; undefined where the caller may not call this, or the server does not have it. */
async function callUnlessDenied(
  session: Session,
  service: string,
  name: string,
  request: object,
): Promise<JsonObject | undefined> {
  const method = contractRegistry().getService(`platform.iam.v2.${service}`)!.method[name]!;
  try {
    return jsonOf(method.output, await callMethod(session, method, request)) as JsonObject;
  } catch (error) {
    if (error instanceof PlatformError && [Code.PermissionDenied, Code.NotFound].includes(error.code)) return undefined;
    throw error;
  }
}

function linesOf({ server, profile, identity, issuer, organisations, roles, expireTime }: WhoAmI): string[] {
  const rolesText =
    roles === undefined
      ? ["you may not list your roles"]
      : roles.map(({ role, group }) => `${textOf(role)} at ${textOf(group)}`);
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["server", [server]],
    ["profile", [profile ?? "none; the token was given"]],
    ["identity", [textOf(identity)]],
    ["email", identity.email === undefined ? [] : [identity.email]],
    ["issuer", issuer === undefined ? [] : [issuer]],
    ["organisation", organisations.map(textOf)],
    ["roles", rolesText.length === 0 ? ["none"] : rolesText],
    ["token expires", expireTime === undefined ? [] : [`${expireTime}, in ${remainingTime(Date.parse(expireTime))}`]],
  ];
  return rows.flatMap(([title, values]) =>
    values.map((value, index) => `${(index === 0 ? title : "").padEnd(15)}${printable(value)}`),
  );
}

function textOf({ uid, name }: Named): string {
  return name === undefined ? uid : `${name} (${uid})`;
}
