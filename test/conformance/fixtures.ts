/** Resources to test with, made through the API. Names are drawn so that tests never meet. */
import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingSchema } from "../../gen/platform/iam/v2/role_bindings_pb.ts";
import { readInstallation } from "../../src/app/installation.ts";
import { userIdentityUid } from "../../src/new-uid.ts";
import { contentOf, newRow } from "../../src/resource/index.ts";
import { administratorRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { identities } from "../../src/services/iam/identities.ts";
import { roleBindings } from "../../src/services/iam/role-bindings.ts";
import { ensureAdministrator } from "../../src/services/index.ts";
import type { Json } from "./contract.ts";
import type { Platform } from "./platform.ts";

/** A name nobody else has. */
export function freshName(prefix = "n"): string {
  return `${prefix}-${randomBytes(5).toString("hex")}`;
}

/** A uid of the right shape that nothing has; in `parent`, or a root without one. */
export function freshUid(parent = ""): string {
  return parent === "" ? randomBytes(20).toString("hex") : `${parent}/${randomBytes(8).toString("hex")}`;
}

/** A digest, the same for the same seed. */
export function digestOf(seed: number): string {
  return `sha256:${seed.toString(16).padStart(64, "0")}`;
}

/** A rule that matches nobody's tokens. */
export function claimMatch(subject = freshName("subject")): Json {
  return { issuer: "https://issuer.example.com", subject };
}

/** Makes a group below `parent`, the first group unless told. */
export function makeGroup(platform: Platform, parent = platform.root, more: Json = {}): Promise<Json> {
  return platform.ok("CreateGroup", { parent, group: { name: freshName("group"), ...more } });
}

/** Makes a repo. */
export function makeRepo(platform: Platform, parent: string, more: Json = {}): Promise<Json> {
  return platform.ok("CreateRepo", { parent, repo: { name: freshName("repo"), ...more } });
}

/** Makes a tag. */
export function makeTag(platform: Platform, parent: string, more: Json = {}): Promise<Json> {
  return platform.ok("CreateTag", { parent, tag: { name: freshName("tag"), digest: digestOf(1), ...more } });
}

/** Makes an identity. */
export function makeIdentity(platform: Platform, parent: string, more: Json = {}): Promise<Json> {
  const identity = { name: freshName("identity"), ...more };
  if (identity.staticKeys === undefined) identity.claimMatch ??= claimMatch();
  return platform.ok("CreateIdentity", { parent, identity });
}

/** Makes a user identity, as a first sign-in does, which here has no issuer to come from. */
export async function makeUser(
  platform: Platform,
  issuer = "https://login.example.com",
  subject = freshName("subject"),
): Promise<{ readonly uid: string; readonly issuer: string; readonly subject: string; readonly email: string }> {
  const uid = userIdentityUid(issuer, subject);
  const email = `${subject}@example.com`;
  const rule = { iss: { case: "issuer", value: issuer }, sub: { case: "subject", value: subject } } as const;
  const user = create(IdentitySchema, {
    name: "jane doe",
    email,
    relationship: { case: "claimMatch", value: rule },
  });
  const nowUs = Date.now() * 1000;
  const row = { uid, parent: "", createTimeUs: nowUs, updateTimeUs: nowUs, ...contentOf(identities, user) };
  await platform.write((session) => session.insert(identities.table, row));
  return { uid, issuer, subject, email };
}

/** Inserts an identity as it is, with a name that calls may refuse. */
export async function insertIdentity(platform: Platform, parent: string, name: string, uid = freshUid(parent)) {
  const row = newRow(uid, parent, Date.now(), contentOf(identities, create(IdentitySchema, { name })));
  await platform.write((session) => session.insert(identities.table, row));
}

/** Makes a role. */
export function makeRole(
  platform: Platform,
  parent: string,
  capabilities: readonly Json[],
  more: Json = {},
): Promise<Json> {
  return platform.ok("CreateRole", { parent, role: { name: freshName("role"), capabilities, ...more } });
}

/** Binds an identity. */
export function bind(platform: Platform, parent: string, identityUid: string, roleUid: string): Promise<Json> {
  return platform.ok("CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid } });
}

/** The uid of a built-in role. */
export async function builtInRole(platform: Platform, name: string): Promise<string> {
  const { roles } = await platform.ok("ListRoles", { name, uidp: { inRoot: true } });
  return roles[0].uid;
}

/** Makes another administrator, as no method does. */
export async function makeAdministrator(platform: Platform): Promise<Member> {
  const { uid: organisation } = await makeGroup(platform, "");
  const { uid } = await makeIdentity(platform, organisation);
  const { uid: home } = await makeGroup(platform, organisation);
  const binding = create(RoleBindingSchema, { identityUid: uid, roleUid: administratorRoleUid });
  const row = newRow(freshUid(home), home, Date.now(), contentOf(roleBindings, binding));
  await platform.write((session) => session.insert(roleBindings.table, row));
  return { uid, roleUid: administratorRoleUid, bindingUid: row.uid, token: await platform.token(uid) };
}

/** Makes the first administrator again, as `platform init --recover` does. */
export async function recoverAdministrator(platform: Platform): Promise<void> {
  await platform.write(async (session) => {
    const { issuerUrl, rootGroupUid } = (await readInstallation(session))!;
    await ensureAdministrator(session, rootGroupUid, issuerUrl, Date.now());
  });
}

/** Somebody who holds capabilities, or a built-in role by its name, in a group. */
export interface Member {
  readonly uid: string;
  readonly token: string;
  readonly roleUid: string;
  readonly bindingUid: string;
}

/** Makes an identity in `home`, bound at `at`, which is `home` unless told. */
export async function makeMember(
  platform: Platform,
  home: string,
  may: readonly Json[] | string,
  at = home,
): Promise<Member> {
  const roleUid = typeof may === "string" ? await builtInRole(platform, may) : (await makeRole(platform, at, may)).uid;
  const { uid } = await makeIdentity(platform, home);
  const binding = await bind(platform, at, uid, roleUid);
  return { uid, roleUid, bindingUid: binding.uid, token: await platform.token(uid) };
}
