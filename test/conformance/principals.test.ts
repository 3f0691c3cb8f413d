/**
 * Whose call it is: what an organisation stores about the issuer and the subject of somebody else's token changes
 * nothing for anybody else, and tells it nothing.
 */
import { decodeJwt } from "jose";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { userIdentityUid } from "../../src/new-uid.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { type Answer, type IamServer, onEverySharedServer } from "./iam-server.ts";

const editor = builtInRoleUid("editor");
const owner = builtInRoleUid("owner");
const viewer = builtInRoleUid("viewer");
const subject = "repo:acme/app:ref:refs/heads/main";

let key: TestKey;
let issuer: LocalIssuer;
beforeAll(async () => {
  key = await testKey("ES256", "k");
});
beforeEach(async () => {
  issuer = await startIssuer(key);
});
afterEach(() => issuer.close());

onEverySharedServer(
  "a principal",
  (server) => {
    let count = 0;
    const s = (): IamServer => server();
    const tokenWith = (aud: string, change: Record<string, unknown> = {}, signer = key) => {
      const now = Math.floor(Date.now() / 1000);
      return sign(signer, { iss: issuer.url, sub: subject, aud, iat: now, exp: now + 300, ...change });
    };
    /** A token for the platform, which has its own address as issuer. */
    const ciToken = async (change: Record<string, unknown> = {}, signer = key) =>
      tokenWith(decodeJwt(s().admin).iss!, change, signer);
    const organisation = async () => {
      const group: string = (await s().ok("POST /iam/v2/groups", { name: `org${count++}` })).uid;
      const { uid, token } = await s().stranger(group);
      await s().ok(`POST /iam/v2/roleBindings/${group}`, { identityUid: uid, roleUid: owner });
      return { group, token, owner: uid };
    };
    type Organisation = Awaited<ReturnType<typeof organisation>>;
    const done = ({ status, body }: Answer) => {
      if (status !== 200) throw new Error(JSON.stringify(body));
      return body;
    };
    const identityIn = async ({ group, token }: Organisation, rule: object = {}, roleUid?: string): Promise<string> => {
      const claimMatch =
        "subjectPattern" in rule ? { issuer: issuer.url, ...rule } : { issuer: issuer.url, subject, ...rule };
      const body = "staticKeys" in rule ? rule : { claimMatch };
      const { uid } = done(await s().rest(token, `POST /iam/v2/identities/${group}`, { name: "ci", ...body }));
      if (roleUid !== undefined)
        done(await s().rest(token, `POST /iam/v2/roleBindings/${group}`, { identityUid: uid, roleUid }));
      return uid;
    };
    const providerIn = async ({ group, token }: Organisation, clientId: string): Promise<string> => {
      const oidc = { issuer: issuer.url, clientId, pkceEnabled: true, groupsClaim: "groups" };
      const body = { name: "login", defaultRole: viewer, oidc };
      return done(await s().rest(token, `POST /iam/v2/identityProviders/${group}`, body)).uid;
    };
    const exchange = (token: string, parameters: object = {}) => s().rest(token, "POST /sts/exchange", parameters);
    const write = ({ group }: Organisation, token: string) =>
      s().rest(token, `POST /registry/v2/repos/${group}`, { name: `repo${count++}` });
    const audited = async ({ group, token }: Organisation, more = "") =>
      done(await s().rest(token, `GET /audit/v1/records/${group}?page_size=200${more}`)).records as {
        caller: string;
        method: string;
        scope: string;
      }[];

    test.each(["first", "later"])("whose subject another organisation names %s acts as at home", async (when) => {
      const [mine, theirs] = [await organisation(), await organisation()];
      if (when === "first") await identityIn(theirs);
      const uid = await identityIn(mine, {}, editor);
      const squatter = when === "first" ? undefined : await identityIn(theirs);
      const direct = await ciToken();
      const exchanged = done(await exchange(direct)).token;
      expect(decodeJwt(exchanged).sub).toBe(userIdentityUid(issuer.url, subject));
      for (const token of [direct, exchanged]) {
        expect((await write(mine, token)).status).toBe(200);
        expect((await write(theirs, token)).status).toBe(403);
      }
      const callers = async (method: string) => (await audited(mine, `&method=${method}`)).map(({ caller }) => caller);
      await expect.poll(() => callers("CreateRepo")).toEqual([uid, uid]);
      const seen = await audited(theirs);
      expect(seen.filter(({ scope }) => scope.startsWith(mine.group))).toEqual([]);
      expect(JSON.stringify(seen)).not.toContain(uid);
      if (squatter === undefined) return;
      const { createTime, lastSeenTime } = done(await s().rest(theirs.token, `GET /iam/v2/identities/${squatter}`));
      expect(lastSeenTime).toBe(createTime);
    });

    test("is not the user that another organisation's directory names", async () => {
      const [mine, theirs] = [await organisation(), await organisation()];
      const uid = await identityIn(mine, {}, editor);
      const provider = await providerIn(theirs, "web");
      const made = done(
        await s().rest(theirs.token, `POST /iam/v1/identityProviders/${provider}:generateScimToken`, {}),
      );
      const on = { enabled: true, etag: made.etag };
      done(await s().rest(theirs.token, `POST /iam/v1/identityProviders/${provider}:setScimEnabled`, on));
      const scimUser = { userName: "x", externalId: subject, displayName: "Evil" };
      expect((await s().rest(made.token, "POST /scim/v2/Users", scimUser)).status).toBe(201);
      const exchanged = done(await exchange(await ciToken())).token;
      expect((await write(mine, exchanged)).status).toBe(200);
      const records = await audited(mine, "&method=CreateRepo");
      expect(records.map(({ caller }) => caller)).toEqual([uid]);
      const user = userIdentityUid(issuer.url, subject);
      expect((await s().rest(s().admin, `GET /iam/v2/identities/${user}`)).status).toBe(404);
    });

    test("signs in at the provider that it names, or that knows it, whoever else has the same client", async () => {
      const [mine, theirs] = [await organisation(), await organisation()];
      const provider = await providerIn(mine, "shared");
      const known = () => tokenWith("shared");
      const before = done(await exchange(await known())).token;
      const foreign = await providerIn(theirs, "shared");
      const mapping = { externalGroupId: "everyone", roleUid: viewer };
      done(await s().rest(theirs.token, `POST /iam/v2/externalGroupRoleMappings/${foreign}`, mapping));
      const read = async (token: string) => (await s().rest(token, `GET /iam/v2/groups/${mine.group}`)).status;
      for (const token of [before, await known(), done(await exchange(await known())).token])
        expect(await read(token)).toBe(200);
      const fresh = (sub: string) => tokenWith("shared", { sub, groups: ["everyone"] });
      const ambiguous = await exchange(await fresh("new"));
      expect([ambiguous.status, ambiguous.body.code]).toEqual([400, 9]);
      expect(ambiguous.body.message).toMatch(/name the one to sign in at: identity_provider/);
      expect(ambiguous.body.message).not.toContain(theirs.group);
      expect(await read(await fresh("new"))).toBe(401);
      const named = done(await exchange(await fresh("new"), { identity_provider: provider })).token;
      expect([decodeJwt(named).idp, await read(named)]).toEqual([provider, 200]);
      expect(await read(await fresh("new"))).toBe(200);
      const firsts = (await audited(theirs)).filter(({ method }) => method === "iam/first_sign_in");
      expect(firsts).toEqual([]);
    });

    test("is not a new user of whoever accepts its tokens, by calls about another organisation", async () => {
      const [mine, theirs] = [await organisation(), await organisation()];
      const uid = await identityIn(mine, {}, editor);
      await providerIn(theirs, decodeJwt(s().admin).iss!); // the audience of all tokens for the platform
      const token = await ciToken();
      expect((await write(mine, token)).status).toBe(200);
      const firsts = async () => (await audited(theirs)).filter(({ method }) => method === "iam/first_sign_in").length;
      const { token: narrowed, refreshToken } = done(await exchange(token, { scopes: [mine.group] }));
      expect((await exchange(token, { identity: uid })).status).toBe(200);
      expect((await exchange(narrowed)).status).toBe(200);
      expect((await s().rest(token, `GET /iam/v2/roleBindings?group=${mine.group}`)).status).toBe(200);
      const lookup = new URLSearchParams({ issuer: issuer.url, subject });
      await s().rest(narrowed, `GET /iam/v2/identities:lookupIdentity?${lookup}`);
      done(await s().rest(refreshToken, "POST /sts/exchange_refresh_token", { refresh_token: refreshToken }));
      expect(await firsts()).toBe(0);
      expect((await s().rest(token, `GET /iam/v2/groups/${theirs.group}`)).status).toBe(200);
      expect(await firsts()).toBe(1);
    });

    test("that static keys verify is another one than that of the issuer", async () => {
      const [mine, theirs] = [await organisation(), await organisation()];
      const stolen = await testKey("ES256", "theirs");
      const staticKeys = { issuer: issuer.url, subject, issuerKeys: JSON.stringify({ keys: [stolen.jwk] }) };
      const forger = await identityIn(theirs, { staticKeys }, editor);
      await identityIn(mine, {}, editor);
      await identityIn(mine, { subjectPattern: "repo:acme/.*" }, editor);
      const forged = await ciToken({}, stolen);
      const exchanged = done(await exchange(forged)).token;
      for (const token of [forged, exchanged]) {
        expect((await write(theirs, token)).status).toBe(200);
        expect((await write(mine, token)).status).toBe(403);
      }
      expect((await exchange(exchanged, { identity: forger })).status).toBe(200);
      const genuine = await ciToken();
      expect((await write(mine, genuine)).status).toBe(200);
      expect((await write(theirs, genuine)).status).toBe(403);
    });

    test("has its exchanges recorded, however often keys of others exchange tokens for its subject", async () => {
      const [mine, theirs] = [await organisation(), await organisation()];
      const provider = await providerIn(mine, "web");
      const own = await testKey("ES256", "theirs");
      const staticKeys = { issuer: issuer.url, subject, issuerKeys: JSON.stringify({ keys: [own.jwk] }) };
      await identityIn(theirs, { staticKeys });
      const forged = await ciToken({}, own);
      await Promise.all(Array.from({ length: 110 }, () => exchange(forged)));
      done(await exchange(await tokenWith("web"), { identity_provider: provider }));
      const exchanges = async () =>
        (await audited(mine, "&method=sts/exchange")).map(({ caller, scope }) => [caller, scope]);
      await expect.poll(exchanges).toEqual([[userIdentityUid(issuer.url, subject), provider]]);
    });

    test("is not crowded out by static keys of others for its issuer and subject", async () => {
      const ours = await testKey("ES256", "k");
      const keysOf = (jwk: TestKey["jwk"]) => ({
        staticKeys: { issuer: issuer.url, subject, issuerKeys: JSON.stringify({ keys: [jwk] }) },
      });
      for (let i = 0; i < 5; i++) {
        const other = await organisation();
        for (let j = 0; j < 4; j++) await identityIn(other, keysOf((await testKey("ES256", "k")).jwk));
      }
      const mine = await organisation();
      await identityIn(mine, keysOf(ours.jwk), editor);
      expect((await write(mine, await ciToken({}, ours))).status).toBe(200);
    });

    test("keeps what rules ask for when it is exchanged, or must name an identity", async () => {
      const mine = await organisation();
      const uid = await identityIn(mine, { claims: { ref: "main" }, claimPatterns: { run: "[0-9]+" } }, editor);
      const token = done(await exchange(await ciToken({ ref: "main", run: 7 }))).token;
      expect((await write(mine, token)).status).toBe(200);
      done(await s().rest(mine.token, `PATCH /iam/v2/identities/${uid}`, { claimMatch: { claims: { ref: "other" } } }));
      expect((await write(mine, token)).status).toBe(401);
      done(await s().rest(mine.token, `PATCH /iam/v2/identities/${uid}`, { claimMatch: { claims: { ref: "main" } } }));
      const long = await ciToken({ ref: "main", run: 7, more: "x".repeat(5600) });
      const refused = await exchange(long);
      expect([refused.status, refused.body.details[1].fieldViolations[0].field]).toEqual([400, "identity"]);
      const named = done(await exchange(long, { identity: uid })).token;
      expect((await write(mine, named)).status).toBe(200);
    });

    test("accepts an invite as its identity in that organisation", async () => {
      const [mine, theirs] = [await organisation(), await organisation()];
      await identityIn(theirs);
      const uid = await identityIn(mine);
      const inviteIn = async ({ group, token }: Organisation) =>
        done(await s().rest(token, `POST /iam/v2/groupInvites/${group}`, { roleUid: viewer, ttl: "600s" })).code;
      const accept = async (code: string) => s().rest(await ciToken(), "POST /iam/v2/groupInvites:accept", { code });
      expect(done(await accept(await inviteIn(mine))).identity.uid).toBe(uid);
      const third = await organisation();
      const nowhere = await accept(await inviteIn(third));
      expect([nowhere.status, nowhere.body.code]).toEqual([400, 9]);
      expect(nowhere.body.message).toMatch(/identity/);
    });
  },
  { allowLoopbackIssuers: "true" },
);
