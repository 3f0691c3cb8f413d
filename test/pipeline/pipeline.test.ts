/** The policy around every call, with the real contract, a real database and handlers that misbehave. */
import { create, createRegistry, type MessageShape } from "@bufbuild/protobuf";
import { Code, type ConnectError, createClient, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { PingService } from "../../gen/platform/ping/v2/ping_pb.ts";
import { type GetRepoRequestSchema, RepoSchema, ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { install } from "../../src/app/installation.ts";
import { ensureSecretKey } from "../../src/app/keys/secrets.ts";
import { Audit } from "../../src/audit/index.ts";
import { Authenticator, createIssuer, createKeySets } from "../../src/auth/index.ts";
import { createLocalTransport } from "../../src/call/local-transport.ts";
import { readContract } from "../../src/contract/index.ts";
import { notFound } from "../../src/errors.ts";
import { createLogger } from "../../src/log.ts";
import { newUid } from "../../src/new-uid.ts";
import { createPipeline } from "../../src/pipeline/pipeline.ts";
import { createEventRecorder } from "../../src/pipeline/record-events.ts";
import { contentOf, createPageTokens, createSecrets, databaseOf, transactionOf } from "../../src/resource/index.ts";
import { identities } from "../../src/services/iam/identities.ts";
import { createServices, grantSource, identitySource, providerSource } from "../../src/services/index.ts";
import { ConflictError, NotUniqueError, openDatabase, type ReadSession, StaleError } from "../../src/store/index.ts";
import { settingsIn, temporaryFolder } from "../cli/platform-process.ts";

type Method = (request: never, context: HandlerContext) => unknown;

/**
 * The real pipeline around handlers of the test. `log`: the lines; `asked`: the reads of the database; `headers`: those
 * of the administrator.
 */
async function open(methods: Record<string, Method> = {}, slowCallMs = 0) {
  const opened = await openDatabase(settingsIn(await temporaryFolder()).database[1]!);
  onTestFinished(() => opened.close());
  const asked: string[] = [];
  const database = { ...opened, read: recording(opened.read, asked) };
  await database.migrate();
  const installation = (await install(database, "https://platform.example.com", Date.now))!;
  const issuer = await createIssuer({
    issuer: installation.issuerUrl,
    keys: installation.signingKeys,
    clock: Date.now,
  });
  const log: Record<string, unknown>[] = [];
  const contract = readContract([PingService, ReposService]);
  const events = createEventRecorder({
    contract,
    baseUrl: issuer.url,
    issuerUrl: issuer.url,
    registry: createRegistry(ReposService.file),
    hasSubscriptions: async () => true,
    quotas: {},
  });
  const audit = new Audit({ database, now: Date.now, onLoss: () => expect.fail("audit records lost") });
  onTestFinished(() => audit.flush());
  const { observers, interceptors } = createPipeline({
    contract,
    log: createLogger("debug", { stream: { write: (line: string) => void log.push(JSON.parse(line)) } }),
    serviceHost: "platform.example.com",
    writeError: () => expect.fail("no endpoint is served"),
    authenticator: new Authenticator({
      issuer,
      identities: identitySource({ database, issuerUrl: issuer.url, now: Date.now, report: () => {} }),
      providers: providerSource({
        database,
        now: Date.now,
        record: async () => {},
        reserved: () => [],
        report: () => {},
      }),
      keySets: createKeySets({ allowLoopbackHttp: false, clock: Date.now }),
      clock: Date.now,
    }),
    grants: grantSource(database.read),
    onUse: () => {},
    receiverOf: () => undefined,
    database,
    environment: {
      pageTokens: createPageTokens(installation.pageTokenKey),
      secrets: createSecrets([await ensureSecretKey(database)]),
      issuerUrl: issuer.url,
      baseUrl: issuer.url,
      allowLoopbackIssuers: false,
      maxPatterns: 100,
      quotas: {},
    },
    audit,
    events,
    commitsWith: () => undefined,
    isSerializable: () => false,
    lockForCall: () => {},
    rateLimits: { read: undefined, list: undefined, write: undefined },
    onRateLimit: () => expect.fail("no call is refused"),
    maxCalls: 10,
    slowCallMs,
    baggage: [],
    onOverload: () => expect.fail("no call is refused"),
    now: Date.now,
  });
  const repos = createServices({
    openRootGroups: false,
    termsDocuments: [],
    allowLoopbackSinks: false,
    v1MaxListItems: 1000,
  }).find(({ service }) => service === ReposService)!;
  const served = [
    { service: PingService, methods },
    { service: ReposService, methods: { ...repos.methods, ...methods } },
  ];
  const transport = createLocalTransport(served, interceptors, { observers });
  const token = await issuer.mint({ subject: installation.administratorUid, ttlSeconds: 60 });
  return {
    log,
    asked,
    database,
    tokenOf: (subject: string) => issuer.mint({ subject, ttlSeconds: 60 }),
    root: installation.rootGroupUid,
    ping: createClient(PingService, transport),
    repos: createClient(ReposService, transport),
    headers: { authorization: `Bearer ${token}`, "x-request-id": "r-1" },
  };
}

/** A session that notes its calls: the method and the table. */
function recording(session: ReadSession, asked: string[]): ReadSession {
  return new Proxy(session, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (table?: { name?: string }, ...rest: unknown[]) => {
        asked.push(table === undefined ? String(name) : `${String(name)} ${table.name}`);
        return member.call(target, table, ...rest);
      };
    },
  });
}

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail("it succeeded"),
    (error) => error as ConnectError,
  );

/** The names of an error's details. */
const namesOf = ({ details }: ConnectError) =>
  details.map((detail) => ("desc" in detail ? detail.desc.name : detail.type));

describe("a bug", () => {
  test("answers INTERNAL with a fixed text and nothing internal; the log has the cause", async () => {
    const secret = "select body from signing_keys at /srv/platform/src/store.ts:1";
    const { ping, log } = await open({
      ping: () => {
        throw new Error(secret);
      },
    });
    const error = await failureOf(ping.ping({}, { headers: { "x-request-id": "r-1" } }));
    expect([error.code, error.rawMessage]).toEqual([Code.Internal, "Internal error"]);
    expect(namesOf(error)).toEqual(["ErrorInfo"]);
    expect(error.details[0]).toMatchObject({
      value: { reason: "INTERNAL", domain: "ping.platform.example.com", metadata: {} },
    });
    expect(log).toMatchObject([
      { level: "error", msg: "bug", method: "Ping", requestId: "r-1", err: { message: secret } },
      { msg: "call", code: "INTERNAL", method: "platform.ping.v2.PingService/Ping" },
    ]);
  });

  test.each([["a string"], [undefined], [{ code: "ENOENT" }]])("whatever is thrown: %j", async (thrown) => {
    const { ping } = await open({
      ping: () => {
        throw thrown;
      },
    });
    const error = await failureOf(ping.ping({}));
    expect([error.code, error.rawMessage]).toEqual([Code.Internal, "Internal error"]);
  });

  test("in a handler that writes undoes what it wrote", async () => {
    const { repos, root, headers } = await open({
      updateRepo: async (_request, context) => {
        const existing = await transactionOf(context).list(
          { name: "repos", columns: { name: "text" } },
          {
            orderBy: [{ column: "uid", descending: false }],
            skip: 0,
            limit: 1,
          },
        );
        await transactionOf(context).remove({ name: "repos", columns: { name: "text" } }, existing[0]!.uid);
        throw new TypeError("after the write");
      },
    });
    const { uid } = await repos.createRepo({ parent: root, repo: { name: "kept" } }, { headers });
    expect((await failureOf(repos.updateRepo({ repo: { uid } }, { headers }))).code).toBe(Code.Internal);
    expect((await repos.getRepo({ uid }, { headers })).name).toBe("kept");
  });
});

describe("errors of the store that no handler caught", () => {
  test.each<[Error, Code, string]>([
    [new StaleError("repos", "a"), Code.Aborted, "Aborted: another change came first; try again"],
    [new ConflictError(new Error("database is locked")), Code.Aborted, "Aborted: another change came first; try again"],
    [
      new NotUniqueError("repos", "repos_name", undefined),
      Code.AlreadyExists,
      "Already exists: repos with this name exists",
    ],
  ])("%s", async (thrown, code, message) => {
    const { repos, root, headers } = await open({
      createRepo: () => {
        throw thrown;
      },
    });
    const error = await failureOf(repos.createRepo({ parent: root, repo: { name: "x" } }, { headers }));
    expect([error.code, error.rawMessage]).toEqual([code, message]);
    expect(namesOf(error)[0]).toBe("ErrorInfo");
  });
});

describe("validate_only", () => {
  test("answers as usual and changes nothing", async () => {
    const { repos, root, headers } = await open();
    const checked = await repos.createRepo(
      { parent: root, repo: { name: "checked" }, validateOnly: true },
      { headers },
    );
    expect(checked).toMatchObject({ name: "checked", uid: expect.stringContaining(`${root}/`) });
    expect((await repos.listRepos({}, { headers })).totalCount).toBe(0n);
    expect((await failureOf(repos.getRepo({ uid: checked.uid }, { headers }))).code).toBe(Code.NotFound);

    const { uid } = await repos.createRepo({ parent: root, repo: { name: "kept" } }, { headers });
    const changed = await repos.updateRepo({ repo: { uid, name: "changed" }, validateOnly: true }, { headers });
    expect(changed.name).toBe("changed");
    await repos.deleteRepo({ uid, validateOnly: true }, { headers });
    expect(await repos.getRepo({ uid }, { headers })).toMatchObject({ name: "kept" });
    expect((await repos.listRepos({}, { headers })).totalCount).toBe(1n);
  });

  test("fails as usual", async () => {
    const { repos, root, headers } = await open();
    const error = await failureOf(
      repos.createRepo({ parent: root, repo: { name: "No Such Name" }, validateOnly: true }, { headers }),
    );
    expect(error.code).toBe(Code.InvalidArgument);
  });
});

describe("the order of the checks", () => {
  const uid = "0".repeat(40);
  const tooLong = { uid, etag: "x".repeat(200) }; // breaks a value rule

  test.each([
    ["no token: UNAUTHENTICATED, whatever is wrong with the request", undefined, tooLong, Code.Unauthenticated],
    ["a token that is none: UNAUTHENTICATED", "Bearer abc", tooLong, Code.Unauthenticated],
  ])("%s", async (_what, authorization, request, code) => {
    const { repos } = await open();
    const headers = authorization === undefined ? {} : { authorization };
    expect((await failureOf(repos.deleteRepo(request, { headers }))).code).toBe(code);
  });

  test("value rules come before the handler", async () => {
    let called = false;
    const { repos, headers } = await open({
      deleteRepo: () => {
        called = true;
        return {};
      },
    });
    expect((await failureOf(repos.deleteRepo(tooLong, { headers }))).rawMessage).toMatch(/^Invalid argument: etag: /);
    expect(called).toBe(false);
  });
});

test("a read gets a session that cannot write, a change one that can", async () => {
  const writes: boolean[] = [];
  const { repos, root, headers } = await open({
    getRepo: ({ uid }: MessageShape<typeof GetRepoRequestSchema>, context) => {
      writes.push("insert" in databaseOf(context));
      expect(() => transactionOf(context)).toThrow("must not write");
      return create(RepoSchema, { uid });
    },
    createRepo: (_request, context) => {
      writes.push("insert" in databaseOf(context));
      return create(RepoSchema);
    },
  });
  await repos.getRepo({ uid: `${root}/${"0".repeat(16)}` }, { headers });
  await repos.createRepo({ parent: root, repo: { name: "x" } }, { headers });
  expect(writes).toEqual([false, true]);
});

test("a call in a trace has its id in the log line and in its error; one with an invalid traceparent does not", async () => {
  const { repos, log } = await open();
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const given = [`00-${traceId}-00f067aa0ba902b7-01`, "00-4bf92f3577b34da6a3ce929d0e0e4736-0-01"];
  const errors: ConnectError[] = [];
  for (const traceparent of given) {
    const headers = { traceparent, "x-request-id": "r-2" };
    errors.push(await failureOf(repos.getRepo({ uid: "0".repeat(40) }, { headers })));
  }
  expect(log.map((line) => line.traceId)).toEqual([traceId, undefined]);
  expect(errors.map(namesOf)).toEqual([["ErrorInfo", "RequestInfo"], ["ErrorInfo"]]);
  expect(errors[0]!.details[1]).toMatchObject({ value: { requestId: "r-2", servingData: traceId } });
});

describe("a slow call", () => {
  test("is logged with where its time went, its scope and no values", async () => {
    const { repos, root, headers, log } = await open({}, 1e-6);
    const { uid } = await repos.createRepo({ parent: root, repo: { name: "a-name" } }, { headers });
    await repos.getRepo({ uid }, { headers });
    const slow = log.filter(({ msg }) => msg === "slow call");
    const common = { level: "warn", code: "OK", requestId: "r-1", caller: expect.any(String) };
    const ms = expect.any(Number);
    const steps = { authenticationMs: ms, authorizationMs: ms, validationMs: ms, handlerMs: ms, statementMs: ms };
    const change = { ...common, ...steps, method: "platform.registry.v2.ReposService/CreateRepo", scope: root };
    const read = { ...common, ...steps, method: "platform.registry.v2.ReposService/GetRepo", scope: uid };
    expect(slow).toMatchObject([
      { ...change, waitMs: ms, commitMs: ms },
      { ...read, statements: 1 },
    ]);
    expect(slow[0]!.statements).toBeGreaterThan(3);
    for (const line of slow) {
      const sum = Object.entries(line).reduce(
        (sum, [name, value]) => sum + (/^(?!statement|turn).*Ms$/.test(name) ? Number(value) : 0),
        0,
      );
      expect(Math.abs(sum - Number(line.ms))).toBeLessThan(0.01); // what rounding leaves
    }
    expect(JSON.stringify(slow)).not.toMatch(/a-name|Bearer/);
  });

  test("of a stranger has the step that it has not left, and no scope; others are not logged", async () => {
    const { repos, log } = await open({}, 1e-6);
    await failureOf(repos.getRepo({ uid: "0".repeat(40) }));
    expect(log).toMatchObject([{ msg: "call" }, { msg: "slow call", code: "UNAUTHENTICATED" }]);
    expect(Object.keys(log[1]!)).not.toContain("scope");
    expect(Object.keys(log[1]!).filter((name) => name.endsWith("Ms"))).toEqual(["authenticationMs", "statementMs"]);
    const never = await open();
    await failureOf(never.repos.getRepo({ uid: "0".repeat(40) }));
    expect(never.log).toMatchObject([{ msg: "call" }]);
  });
});

test("one line is logged for each call: method, caller and code", async () => {
  const { repos, root, headers, log } = await open();
  await repos.listRepos({}, { headers, contextValues: createContextValues() });
  await failureOf(repos.getRepo({ uid: `${root}/${"0".repeat(16)}` }, { headers }));
  await failureOf(repos.listRepos({}));
  expect(log.filter(({ msg }) => msg === "call")).toMatchObject([
    {
      level: "info",
      method: "platform.registry.v2.ReposService/ListRepos",
      code: "OK",
      requestId: "r-1",
      caller: expect.stringMatching(/^[0-9a-f]{40}$/),
    },
    { code: "NOT_FOUND", method: "platform.registry.v2.ReposService/GetRepo" },
    { code: "UNAUTHENTICATED" },
  ]);
  expect(JSON.stringify(log)).not.toContain(headers.authorization.split(".")[2]);
});

test("an error made for callers passes unchanged, with the domain of the method", async () => {
  const { ping } = await open({
    ping: () => {
      throw notFound({ type: "iam.platform.internal/Group", uid: "a" });
    },
  });
  const error = await failureOf(ping.ping({}));
  expect(error.rawMessage).toBe('Not found: Group "a" does not exist');
  expect(error.details).toMatchObject([
    { value: { reason: "NOT_FOUND", domain: "ping.platform.example.com" } },
    { value: { resourceType: "iam.platform.example.com/Group", resourceName: "a" } },
  ]);
});

describe("a foreign resource and one that never existed", () => {
  test("take the same reads and get the same response, before any row is read", async () => {
    const { asked, database, repos, root, headers, tokenOf } = await open();
    const { uid } = await repos.createRepo({ parent: root, repo: { name: "theirs" } }, { headers });
    const stranger = newUid(root);
    const rule = { iss: { case: "issuer", value: "https://a.example" }, sub: { case: "subject", value: "s" } } as const;
    const identity = create(IdentitySchema, { name: "stranger", relationship: { case: "claimMatch", value: rule } });
    const base = { uid: stranger, parent: root, createTimeUs: 0, updateTimeUs: 0 };
    await database.transact((session) =>
      session.insert(identities.table, { ...base, ...contentOf(identities, identity) }),
    );
    const authorization = { headers: { authorization: `Bearer ${await tokenOf(stranger)}` } };

    const calls = [
      (repo: string) => repos.getRepo({ uid: repo }, authorization),
      (repo: string) => repos.updateRepo({ repo: { uid: repo, description: "mine" } }, authorization),
      (repo: string) => repos.deleteRepo({ uid: repo }, authorization),
      (repo: string) => repos.getRepoReadme({ uid: repo }, authorization),
    ];
    for (const call of calls) {
      const outcomeOf = async (repo: string) => {
        asked.length = 0;
        const { code, rawMessage } = await failureOf(call(repo));
        return { code, text: rawMessage.replace(repo, "UID"), asked: [...asked] };
      };
      await outcomeOf(uid); // caches the caller
      const foreign = await outcomeOf(uid);
      expect(foreign).toEqual(await outcomeOf(newUid(root)));
      expect(foreign.code).toBe(Code.PermissionDenied);
      expect(foreign.asked.length).toBeGreaterThan(0);
      expect(foreign.asked.filter((question) => question.includes("repo"))).toEqual([]);
    }
  });
});
