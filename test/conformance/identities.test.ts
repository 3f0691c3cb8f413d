/** Identities: their rules, the service's own fields, confinement to the subtree they live in. */
import { createHash } from "node:crypto";
import { exportJWK, generateKeyPair } from "jose";
import { expect, test } from "vitest";
import {
  bind,
  builtInRole,
  claimMatch,
  freshName,
  freshUid,
  makeGroup,
  makeIdentity,
  makeMember,
  makeRepo,
} from "./fixtures.ts";
import { detailOf, fieldsOf, violationsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

const keySet = await (async () => {
  const { publicKey } = await generateKeyPair("ES256", { extractable: true });
  return JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] });
})();

onEveryServer("identities", (platform) => {
  test.each(protocols)("create, get, update, delete over %s", async (over) => {
    const parent = platform().root;
    const rule = claimMatch();
    const identity = { name: "ci bot", description: "Builds", company: "acme", claimMatch: rule };
    const created = await platform().ok("CreateIdentity", { parent, identity }, { over });
    expect(created).toEqual({
      uid: expect.stringMatching(new RegExp(`^${parent}/[0-9a-f]{16}$`)),
      name: "ci bot",
      description: "Builds",
      email: "",
      emailUnverified: "",
      company: "acme",
      lastSeenTime: created.createTime,
      createTime: expect.any(String),
      updateTime: created.createTime,
      claimMatch: { ...rule, claims: {}, claimPatterns: {} },
      etag: expect.any(String),
    });
    const { uid } = created;
    expect(await platform().read("GetIdentity", { uid })).toEqual(created);
    const updated = await platform().ok(
      "UpdateIdentity",
      { identity: { uid, claimMatch: { subject: "other" } }, updateMask: "claimMatch.subject" },
      { over },
    );
    expect(updated.claimMatch).toMatchObject({ issuer: rule.issuer, subject: "other" });
    expect(await platform().read("GetIdentity", { uid })).toEqual(updated);
    await platform().ok("DeleteIdentity", { uid }, { over });
    const status = await platform().refused("GetIdentity", { uid }, "NOT_FOUND");
    expect(detailOf(status)).toEqual({ resourceType: "iam.platform.internal/Identity", resourceName: uid });
    await platform().refused("DeleteIdentity", { uid }, "NOT_FOUND");
  });

  test("the create answer's last_seen_time is its create_time", async () => {
    const identity = await makeIdentity(platform(), platform().root);
    expect(identity.lastSeenTime).toBe(identity.createTime);
  });

  test("an empty body answers exactly what the specification says", async () => {
    const response = await platform().fetch(`/iam/v2/identities/${platform().root}`, {
      method: "POST",
      body: "{}",
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      code: 3,
      message: 'Invalid argument: name: name must match "^[a-z0-9 ._-]{1,}$"',
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "INVALID_ARGUMENT",
          domain: "iam.platform.internal",
        },
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: [{ field: "name", description: 'name must match "^[a-z0-9 ._-]{1,}$"' }],
        },
      ],
    });
    const parent = platform().root;
    for (const request of [{ parent, identity: {} }, { parent }])
      await platform().refused("CreateIdentity", request, "INVALID_ARGUMENT");
  });

  test("a failing name is reported alone, otherwise all violations in the order of field numbers", async () => {
    const parent = platform().root;
    const rule = { issuer: "ftp://nowhere" };
    const named = { name: "NO", description: "a\nb", claimMatch: rule };
    expect(
      fieldsOf(await platform().refused("CreateIdentity", { parent, identity: named }, "INVALID_ARGUMENT")),
    ).toEqual(["name"]);
    const rest = { name: "yes", description: "a\nb", company: "x".repeat(256), claimMatch: rule };
    const status = await platform().refused("CreateIdentity", { parent, identity: rest }, "INVALID_ARGUMENT");
    expect(fieldsOf(status)).toEqual(["description", "company", "claim_match.issuer", "claim_match.subject"]);
  });

  test("needs a relationship", async () => {
    const request = { parent: platform().root, identity: { name: "x" } };
    expect(violationsOf(await platform().refused("CreateIdentity", request, "INVALID_ARGUMENT"))).toEqual([
      { field: "claim_match", description: "one of claim_match, static_keys is required" },
    ]);
  });

  test.each([
    ["no issuer", { subject: "s" }, "claim_match.issuer"],
    ["no subject", { issuer: "https://issuer.example.com" }, "claim_match.subject"],
    ["an empty subject", { issuer: "https://issuer.example.com", subject: "" }, "claim_match.subject"],
    ["an http issuer", { issuer: "http://issuer.example.com", subject: "s" }, "claim_match.issuer"],
    ["a loopback issuer", { issuer: "http://localhost:1234", subject: "s" }, "claim_match.issuer"],
    ["an issuer that is not a URL", { issuer: "issuer", subject: "s" }, "claim_match.issuer"],
    ["a broken pattern", { issuerPattern: "https://(", subject: "s" }, "claim_match.issuer_pattern"],
    [
      "a pattern with a backreference",
      { issuer: "https://i.example.com", subjectPattern: "(a)\\1" },
      "claim_match.subject_pattern",
    ],
    [
      "a broken claim pattern",
      { ...claimMatch(), claimPatterns: { email: "[" } },
      'claim_match.claim_patterns["email"]',
    ],
    [
      "a pattern of hosts",
      { issuerPattern: "https://[a-z]+\\.example\\.com", subject: "s" },
      "claim_match.issuer_pattern",
    ],
    ["a pattern of any issuer", { issuerPattern: "https://.*", subject: "s" }, "claim_match.issuer_pattern"],
    [
      "a pattern of two hosts",
      { issuerPattern: "https://a.example/x|https://b.example/x", subject: "s" },
      "claim_match.issuer_pattern",
    ],
    ["a pattern at http", { issuerPattern: "http://localhost:1234/.*", subject: "s" }, "claim_match.issuer_pattern"],
    [
      "a pattern that is too large",
      { issuer: "https://i.example.com", subjectPattern: "(?:[a-z0-9]{1,40}|x){1,8}!" },
      "claim_match.subject_pattern",
    ],
    ["a broken audience pattern", { ...claimMatch(), audiencePattern: "(" }, "claim_match.audience_pattern"],
  ])("refuses a claim match with %s", async (_, rule, field) => {
    const request = { parent: platform().root, identity: { name: "x", claimMatch: rule } };
    expect(fieldsOf(await platform().refused("CreateIdentity", request, "INVALID_ARGUMENT"))).toEqual([field]);
  });

  test("takes patterns, audiences and claims", async () => {
    const rule = {
      issuerPattern: "https://login\\.example\\.com/[a-z]+",
      subjectPattern: "repo:acme/.*",
      audience: "anybody",
      claims: { ref: "main" },
      claimPatterns: { job: "build-.*" },
    };
    expect((await makeIdentity(platform(), platform().root, { claimMatch: rule })).claimMatch).toEqual(rule);
  });

  test("two identities may have the same name, issuer and subject", async () => {
    const same = { name: freshName(), claimMatch: claimMatch() };
    const first = await makeIdentity(platform(), platform().root, same);
    const second = await makeIdentity(platform(), platform().root, same);
    expect(second.uid).not.toBe(first.uid);
  });

  test("static keys live 365 days unless told, and no longer", async () => {
    const staticKeys = { issuer: "https://issuer.example.com", subject: "s", issuerKeys: keySet };
    const year = 365 * 24 * 60 * 60 * 1000;
    const made = await makeIdentity(platform(), platform().root, { staticKeys });
    expect(Date.parse(made.staticKeys.expirationTime) - Date.parse(made.createTime)).toBe(year);
    expect(made.staticKeys).toMatchObject({ ...staticKeys, audiences: [] });
    for (const ms of [Date.now() - 1000, Date.now() + year + 3_600_000]) {
      const identity = { name: "x", staticKeys: { ...staticKeys, expirationTime: new Date(ms).toISOString() } };
      const status = await platform().refused(
        "CreateIdentity",
        { parent: platform().root, identity },
        "INVALID_ARGUMENT",
      );
      expect(fieldsOf(status)).toEqual(["static_keys.expiration_time"]);
    }
    for (const [wrong, field] of [
      [{ issuerKeys: "no JSON" }, "static_keys.issuer_keys"],
      [{ issuerKeys: '{"keys":[]}' }, "static_keys.issuer_keys"],
      [{ issuer: "http://issuer.example.com" }, "static_keys.issuer"],
      [{ audiences: ["a", "b"] }, "static_keys.audiences"],
    ] as const) {
      const identity = { name: "x", staticKeys: { ...staticKeys, ...wrong } };
      const status = await platform().refused(
        "CreateIdentity",
        { parent: platform().root, identity },
        "INVALID_ARGUMENT",
      );
      expect(fieldsOf(status)).toEqual([field]);
    }
  });

  test("an update may turn literals into patterns, and one kind of rule into the other", async () => {
    const { uid } = await makeIdentity(platform(), platform().root);
    const patterned = await platform().ok("UpdateIdentity", {
      identity: { uid, claimMatch: { issuer: "https://issuer.example.com", subjectPattern: "a.*" } },
      updateMask: "claimMatch",
    });
    expect(patterned.claimMatch).toEqual({
      issuer: "https://issuer.example.com",
      subjectPattern: "a.*",
      claims: {},
      claimPatterns: {},
    });
    const staticKeys = { issuer: "https://issuer.example.com", subject: "s", issuerKeys: keySet };
    const keyed = await platform().ok("UpdateIdentity", { identity: { uid, staticKeys }, updateMask: "staticKeys" });
    expect(keyed.claimMatch).toBeUndefined();
    expect(keyed.staticKeys).toMatchObject(staticKeys);
    const status = await platform().refused(
      "UpdateIdentity",
      { identity: { uid }, updateMask: "staticKeys" },
      "INVALID_ARGUMENT",
    );
    expect(fieldsOf(status)).toEqual(["claim_match"]);
  });

  test.each([
    ["(a", 'must be an RE2 pattern: missing closing ) in "(a"'],
    ["(?=a)", 'must be an RE2 pattern: invalid or unsupported Perl syntax in "(?="'],
    ["((a{100}){100}){100}", "must not repeat so much of itself: its counts multiply"],
  ])("says why %s is not a pattern", async (subjectPattern, description) => {
    const claimMatch = { issuer: "https://i.example.com", subjectPattern };
    const request = { parent: platform().root, identity: { name: "x", claimMatch } };
    expect(violationsOf(await platform().refused("CreateIdentity", request, "INVALID_ARGUMENT"))).toEqual([
      { field: "claim_match.subject_pattern", description },
    ]);
  });

  test("lists by the kind of rule, by name, by place", async () => {
    const { uid: group } = await makeGroup(platform());
    const matching = await makeIdentity(platform(), group, { name: "matching" });
    const staticKeys = { issuer: "https://issuer.example.com", subject: "s", issuerKeys: keySet };
    const keyed = await makeIdentity(platform(), group, { name: "keyed", staticKeys });
    const uidp = { childrenOf: group };
    const by = async (more: object) =>
      (await platform().read("ListIdentities", { uidp, ...more })).identities.map(({ uid }: { uid: string }) => uid);
    expect(await by({ relationshipType: "RELATIONSHIP_TYPE_CLAIM_MATCH" })).toEqual([matching.uid]);
    expect(await by({ relationshipType: "RELATIONSHIP_TYPE_STATIC" })).toEqual([keyed.uid]);
    expect(await by({ name: "keyed" })).toEqual([keyed.uid]);
    expect((await by({})).sort()).toEqual([matching.uid, keyed.uid].sort());
  });

  test("an identity of the organisation reaches it, one of a subgroup only that", async () => {
    const { uid: folder } = await makeGroup(platform());
    const above = await makeRepo(platform(), platform().root);
    const below = await makeRepo(platform(), folder);
    const whole = await makeMember(platform(), platform().root, "viewer");
    const part = await makeMember(platform(), folder, "viewer");
    await platform().read("GetRepo", { uid: above.uid }, { as: whole.token });
    await platform().read("GetRepo", { uid: below.uid }, { as: whole.token });
    await platform().read("GetRepo", { uid: below.uid }, { as: part.token });
    await platform().refused("GetRepo", { uid: above.uid }, "PERMISSION_DENIED", { as: part.token });
    const { repos } = await platform().read("ListRepos", {}, { as: part.token });
    expect(repos).toEqual([below]);

    const viewer = await builtInRole(platform(), "viewer");
    for (const parent of [platform().root, (await makeGroup(platform())).uid]) {
      const request = { parent, roleBinding: { identityUid: part.uid, roleUid: viewer } };
      expect(fieldsOf(await platform().refused("CreateRoleBinding", request, "INVALID_ARGUMENT"))).toEqual([
        "identity_uid",
      ]);
    }
    const deeper = await makeGroup(platform(), folder);
    await bind(platform(), deeper.uid, part.uid, viewer);
  });

  test("deletion takes the bindings along, whatever they are", async () => {
    const { uid, bindingUid } = await makeMember(platform(), platform().root, "owner");
    await platform().ok("DeleteIdentity", { uid });
    await platform().refused("GetRoleBinding", { uid: bindingUid }, "NOT_FOUND");
  });

  test("lookup answers the uid of a user identity for any pair, to any caller", async () => {
    const nobody = await makeIdentity(platform(), platform().root);
    const pair = { issuer: "https://issuer.example.com", subject: "me" };
    const expected = createHash("sha256")
      .update(["user", pair.issuer, pair.subject].join("\0"))
      .digest("hex")
      .slice(0, 40);
    const as = await platform().token(nobody.uid);
    expect(await platform().read("LookupIdentity", pair, { as })).toEqual({ uid: expected });
    const administrator = { issuer: platform().baseUrl, subject: "administrator" };
    expect(await platform().read("LookupIdentity", administrator, { as })).toEqual({ uid: platform().administrator });
    expect(fieldsOf(await platform().refused("LookupIdentity", {}, "INVALID_ARGUMENT", { as }))).toEqual([
      "issuer",
      "subject",
    ]);
  });

  test("output-only fields of a body are ignored, so that an answer can be sent back", async () => {
    const source = await makeIdentity(platform(), platform().root);
    const copy = await platform().ok("CreateIdentity", {
      parent: platform().root,
      identity: { ...source, email: "me@example.com", lastSeenTime: "2001-01-01T00:00:00.000Z", uid: freshUid() },
    });
    expect(copy.email).toBe("");
    expect(copy.lastSeenTime).toBe(copy.createTime);
    expect(copy.uid).not.toBe(source.uid);
    const back = await platform().ok("UpdateIdentity", { identity: copy, updateMask: "*" });
    expect(back).toEqual(copy);
  });

  test("a missing group is not found", async () => {
    const parent = freshUid(platform().root);
    const request = { parent, identity: { name: "x", claimMatch: claimMatch() } };
    const status = await platform().refused("CreateIdentity", request, "NOT_FOUND");
    expect(detailOf(status)).toEqual({ resourceType: "iam.platform.internal/Group", resourceName: parent });
    expect(violationsOf(status)).toEqual([]);
  });
});
