/** What the owners of organisations do, and the order of steps. */
import { builtInRoleUid } from "../../../src/services/iam/built-in-roles.ts";
import type { Json } from "../contract.ts";
import { burst, principalActs } from "./calls.ts";
import { type Answer, platformUrl } from "./installation.ts";
import { maxTurns, type Run } from "./run.ts";
import { at, type Identity, isOk, type Provider, type Side, type Sides, sides, userOf } from "./state.ts";
import type { Organisation, OwnersStep, Rule, Step } from "./world.ts";

const userSchema = "urn:ietf:params:scim:schemas:core:2.0:User";
const groupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group";

/** Runs a world. Errors: Violated. */
export async function runSteps(run: Run): Promise<void> {
  let turns = 0;
  for (const [i, step] of run.world.steps.entries()) {
    run.beginStep(i + 1);
    if (await runStep(run, step)) {
      await run.tick();
      if (++turns === maxTurns) return;
    }
  }
}

/** Returns whether it was about A. */
async function runStep(run: Run, step: Step): Promise<boolean> {
  switch (step.do) {
    case "call":
    case "exchange":
    case "use":
    case "narrow":
    case "refresh":
    case "revoke":
      return principalActs(run, step);
    case "burst":
      return burst(run, step);
    default:
      await ownerActs(run, step);
      return step.org === "A";
  }
}

const uidOf = (answers: Sides<Answer>) => sides(answers, ({ body }) => body.uid as string);

async function ownerActs(run: Run, step: OwnersStep): Promise<void> {
  const { state } = run;
  const { org } = step;
  const owner = run.owners.get(org)!;
  const own = state.providers.filter((provider) => provider.org === org);
  const method = (name: string, request: (side: Side) => Json) =>
    run.both(org, `owner ${name}`, (side, installation, headers) =>
      installation.method(name, request(side), owner[side]!, { headers }),
    );
  const scim = (verb: string, path: string, provider: Provider, body: (side: Side) => Json, id?: Sides<string>) =>
    run.both(org, `scim ${verb} ${path}`, (side, installation, headers) =>
      installation.call({
        verb,
        target: `/scim/v2${path}${id === undefined ? "" : `/${id[side]}`}`,
        body: body(side),
        token: provider.secret![side],
        headers,
      }),
    );
  const bind = async (to: Sides<string>, key: string, folder: 0 | 1 | 2, role: "viewer" | "editor" | "owner") => {
    const made = await method("CreateRoleBinding", (side) => ({
      parent: run.group(org, folder)[side],
      roleBinding: { identityUid: to[side], roleUid: builtInRoleUid(role) },
    }));
    if (isOk(made)) state.bindings.push({ org, folder, role, to: key });
  };
  switch (step.do) {
    case "identity": {
      const { folder, rule, role } = step;
      const identity = await createIdentity(org, folder, rule);
      if (identity !== undefined && role !== "") await bind(identity.uid, identity.uid.x, folder, role);
      return;
    }
    case "crowd": {
      const { issuer, subject } = step;
      for (const key of ["first", "second", "third", "long"] as const)
        await createIdentity(org, 0, { kind: "keys", issuer, subject, keys: [key], audience: "" });
      return;
    }
    case "provider": {
      const { issuer, client, role } = step;
      const clientId = client === "platform" ? platformUrl : client;
      const oidc = { issuer: run.issuers.url(issuer), clientId, pkceEnabled: true };
      const made = await method("CreateIdentityProvider", (side) => ({
        parent: run.group(org, 0)[side],
        identityProvider: { name: "login", defaultRole: builtInRoleUid(role), oidc },
      }));
      if (isOk(made))
        state.providers.push({
          ...{ org, issuer, client, role, uid: uidOf(made), secret: undefined },
          ...{ signedIn: new Set(), described: { x: new Set(), y: new Set() } },
        });
      return;
    }
    case "mapping": {
      const provider = at(own, step.pick);
      if (provider === undefined) return;
      const made = await method("CreateExternalGroupRoleMapping", (side) => ({
        parent: provider.uid[side],
        externalGroupRoleMapping: { externalGroupId: step.group, roleUid: builtInRoleUid(step.role) },
      }));
      if (isOk(made)) state.hasOtherGrants = true;
      return;
    }
    case "provisioning": {
      const provider = at(own, step.pick);
      if (provider === undefined || provider.secret !== undefined) return;
      const post = (action: string, body: (side: Side) => Json) =>
        run.both(org, `owner ${action}`, (side, installation, headers) => {
          const target = `/iam/v1/identityProviders/${provider.uid[side]}:${action}`;
          return installation.call({ verb: "POST", target, body: body(side), token: owner[side], headers });
        });
      const made = await post("generateScimToken", () => ({}));
      const etag = sides(made, ({ body }) => body.etag);
      if (isOk(await post("setScimEnabled", (side) => ({ enabled: true, etag: etag[side] }))))
        provider.secret = sides(made, ({ body }) => body.token);
      return;
    }
    case "entry": {
      const provider = at(
        own.filter(({ secret }) => secret !== undefined),
        step.pick,
      );
      if (provider === undefined) return;
      const { subject, active } = step;
      const made = await scim("POST", "/Users", provider, () => ({
        schemas: [userSchema],
        userName: `${subject}@${org.toLowerCase()}.example`,
        externalId: subject,
        displayName: `${subject} as ${org} says`,
        emails: [{ value: `${subject}@${org.toLowerCase()}.example` }],
        active,
      }));
      if (!isOk(made)) return;
      state.entries.push({ provider, subject, id: sides(made, ({ body }) => body.id), isActive: active });
      state.hasOtherGrants = true;
      return;
    }
    case "entryActive": {
      const entry = at(
        state.entries.filter(({ provider }) => provider.org === org),
        step.pick,
      );
      if (entry === undefined) return;
      const change = { Operations: [{ op: "replace", path: "active", value: step.active }] };
      await scim("PATCH", "/Users", entry.provider, () => change, entry.id);
      entry.isActive = step.active;
      return;
    }
    case "entryGroup": {
      const entry = at(
        state.entries.filter(({ provider }) => provider.org === org),
        step.pick,
      );
      if (entry === undefined) return;
      await scim("POST", "/Groups", entry.provider, (side) => ({
        schemas: [groupSchema],
        displayName: step.group,
        members: [{ value: entry.id[side] }],
      }));
      return;
    }
    case "bindUser": {
      const { issuer, subject, folder, role } = step;
      const uid = run.userUid(issuer, subject);
      return bind({ x: uid, y: uid }, userOf(issuer, subject), folder, role);
    }
    case "bindIdentity": {
      const identity = at(
        state.identities.filter((identity) => identity.org === org),
        step.pick,
      );
      return identity && bind(identity.uid, identity.uid.x, step.folder, step.role);
    }
    case "invite": {
      const { folder, role, hasEmail } = step;
      const made = await method("CreateGroupInvite", (side) => ({
        parent: run.group(org, folder)[side],
        groupInvite: {
          roleUid: builtInRoleUid(role),
          ttl: "86400s",
          ...(hasEmail && { email: "jane@acme.example" }),
        },
      }));
      if (isOk(made))
        state.invites.push({ org, folder, role, hasEmail, uid: sides(made, ({ body }) => body.code as string) });
      return;
    }
    case "deleteIdentity": {
      const identity = at(
        state.identities.filter((identity) => identity.org === org),
        step.pick,
      );
      if (identity === undefined) return;
      await method("DeleteIdentity", (side) => ({ uid: identity.uid[side] }));
      state.identities.splice(state.identities.indexOf(identity), 1);
      return;
    }
    case "deleteProvider": {
      const provider = at(own, step.pick);
      if (provider === undefined) return;
      const deleted = await method("DeleteIdentityProvider", (side) => ({ uid: provider.uid[side] }));
      if (isOk(deleted)) state.providers.splice(state.providers.indexOf(provider), 1);
    }
  }

  async function createIdentity(org: Organisation, folder: 0 | 1 | 2, rule: Rule): Promise<Identity | undefined> {
    const made = await method("CreateIdentity", (side) => ({
      parent: run.group(org, folder)[side],
      identity: { name: "robot", ...run.ruleOf(rule) },
    }));
    if (!isOk(made)) return undefined;
    const identity = { org, folder, rule, uid: uidOf(made) };
    state.identities.push(identity);
    return identity;
  }
}
