/** Sources of tokens, against real servers. */
import { writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  createPlatformClient,
  exchangedToken,
  type PlatformError,
  type TokenSource,
} from "../../src/client/package.ts";
import { readProfile, writeProfile } from "../../src/client-node/index.ts";
import {
  CiTokenError,
  ciToken,
  fileToken,
  grpc,
  ProfileError,
  profileServer,
  profileToken,
} from "../../src/client-node/package.ts";
import { startWithFolder } from "../remote/server.ts";
import { serve } from "./serve.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;
beforeAll(async () => {
  server = await startWithFolder();
});
afterAll(() => server.stop());

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error as PlatformError,
  );

describe("the tokens of a profile", () => {
  beforeAll(() => {
    vi.stubEnv("XDG_CONFIG_HOME", join(server.folder, "profiles"));
    return () => vi.unstubAllEnvs();
  });

  test("are sent to its server", async () => {
    await writeProfile("own", { server: server.server, token: server.token });
    expect(await profileServer("own")).toBe(server.server);
    for (const url of [await profileServer("own"), `${server.server}/`]) {
      const client = createPlatformClient({ server: url, token: profileToken("own") });
      expect((await client.repos.list().page()).totalCount).toBe(0n);
    }
  });

  test.each([false, true])("are not sent to another one, exchanged: %s", async (isExchanged) => {
    await writeProfile("default", { server: server.server, token: "secret", refreshToken: "secret" });
    const received: IncomingHttpHeaders[] = [];
    const other = await serve(({ headers }, response) => {
      received.push(headers);
      response.end("{}");
    });
    const token = isExchanged ? exchangedToken({ server: other, subject: profileToken() }) : profileToken();
    expect(await failureOf(createPlatformClient({ server: other, token }).ping.ping({}))).toMatchObject({
      code: Code.Unauthenticated,
      rawMessage: `there is no token for the call: profile default is of ${server.server}; its tokens are not sent to ${other}`,
    });
    expect(received).toEqual([]);
  });
});

describe("the session of a profile", () => {
  beforeAll(() => {
    vi.stubEnv("XDG_CONFIG_HOME", join(server.folder, "sessions"));
    return () => vi.unstubAllEnvs();
  });

  test("has ended: UNAUTHENTICATED", async () => {
    await writeProfile("ended", { server: server.server, token: "old", expireTimeMs: 0, refreshToken: "ended" });
    const client = createPlatformClient({ server: server.server, token: profileToken("ended") });
    expect(await failureOf(client.ping.ping({}))).toMatchObject({
      code: Code.Unauthenticated,
      message: expect.stringContaining("the session of profile ended has ended"),
      cause: expect.any(ProfileError),
    });
  });

  test("is kept when the call that renews it ends early", async () => {
    const answers: (() => void)[] = [];
    const slow = await serve((_, response) => {
      const next = { expiry: "2100-01-01T00:00:00.000Z" };
      const pair = { token: { ...next, token: "next" }, refreshToken: { ...next, token: "second" } };
      answers.push(() => response.end(JSON.stringify(pair)));
    });
    await writeProfile("slow", { server: slow, token: "old", expireTimeMs: 0, refreshToken: "first" });
    const client = createPlatformClient({ server: slow, token: profileToken("slow"), timeoutMs: 500 });
    expect(await failureOf(client.ping.ping({}))).toMatchObject({ code: Code.DeadlineExceeded });
    for (const answer of answers) answer();
    await expect.poll(() => readProfile("slow")).toMatchObject({ token: "next", refreshToken: "second" });
  });
});

const never: TokenSource = { token: () => new Promise(() => {}) };

describe.each([
  ["Connect", {}],
  ["gRPC", { transport: grpc }],
])("a source that does not answer, over %s", (_, over) => {
  test.each<[string, () => { timeoutMs?: number; signal?: AbortSignal }, Code]>([
    ["the time limit", () => ({ timeoutMs: 50 }), Code.DeadlineExceeded],
    ["the signal", () => ({ signal: AbortSignal.timeout(50) }), Code.Canceled],
    ["a signal that is aborted", () => ({ signal: AbortSignal.abort() }), Code.Canceled],
  ])("is ended by %s", async (_, options, code) => {
    const client = createPlatformClient({ server: server.server, token: never, ...over });
    expect(await failureOf(client.ping.ping({}, options()))).toMatchObject({ code });
  });

  test("is ended where it is the subject of an exchange, or the token service is silent", async () => {
    const silent = await serve(() => {});
    for (const token of [
      exchangedToken({ server: server.server, subject: never }),
      exchangedToken({ server: silent, subject: server.token }),
    ]) {
      const client = createPlatformClient({ server: server.server, token, timeoutMs: 50, ...over });
      expect(await failureOf(client.ping.ping({}))).toMatchObject({ code: Code.DeadlineExceeded });
    }
  });
});

test("a source that fails is UNAUTHENTICATED, with its error as the cause", async () => {
  const cause = new Error("no token today");
  const sources: TokenSource[] = [
    { token: () => Promise.reject(cause) },
    {
      token() {
        throw cause;
      },
    },
  ];
  for (const token of sources)
    expect(await failureOf(createPlatformClient({ server: server.server, token }).ping.ping({}))).toMatchObject({
      code: Code.Unauthenticated,
      rawMessage: "there is no token for the call: no token today",
      cause,
    });
});

describe("a token in a file", () => {
  const file = () => join(server.folder, "token");

  test.each([false, true])("is read again when the server refuses it, exchanged: %s", async (isExchanged) => {
    writeFileSync(file(), "refused");
    const inFile = fileToken(file());
    let asked = 0;
    const source: TokenSource = {
      ...inFile,
      async token(request) {
        const token = await inFile.token(request);
        if (asked++ === 0) writeFileSync(file(), `${server.token}\n`); // while the call is under way
        return token;
      },
    };
    const token = isExchanged ? exchangedToken({ server: server.server, subject: source }) : source;
    await createPlatformClient({ server: server.server, token }).repos.list().page();
    expect(asked).toBe(2);
  });

  test("is refused for good if the file is the same", async () => {
    writeFileSync(file(), "refused");
    const client = createPlatformClient({ server: server.server, token: fileToken(file()) });
    expect(await failureOf(client.repos.list().page())).toMatchObject({ code: Code.Unauthenticated });
  });

  test("is missing: UNAUTHENTICATED", async () => {
    const client = createPlatformClient({ server: server.server, token: fileToken(join(server.folder, "none")) });
    expect(await failureOf(client.repos.list().page())).toMatchObject({
      code: Code.Unauthenticated,
      message: expect.stringContaining("ENOENT"),
    });
  });
});

describe("the token of a CI job", () => {
  const callWith = (url: string) => {
    const env = { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of-the-job" };
    const subject = ciToken(server.server, env);
    const token = exchangedToken({ server: server.server, subject });
    return failureOf(createPlatformClient({ server: server.server, token, retry: false }).ping.ping({}));
  };

  test("cannot be had while GitHub is down: UNAVAILABLE", async () => {
    const overloaded = await serve((_, response) => response.writeHead(503).end());
    expect(await callWith(overloaded)).toMatchObject({ code: Code.Unavailable });
    expect(await callWith("http://127.0.0.1:1")).toMatchObject({ code: Code.Unavailable });
  });

  test("is refused by GitHub: UNAUTHENTICATED", async () => {
    const refusing = await serve((_, response) => response.writeHead(403).end());
    expect(await callWith(refusing)).toMatchObject({ code: Code.Unauthenticated, cause: expect.any(CiTokenError) });
    const odd = await serve((_, response) => response.end("<html>"));
    expect(await callWith(odd)).toMatchObject({ code: Code.Unauthenticated, cause: expect.any(CiTokenError) });
  });

  test("is missing at once outside of a job", () => {
    expect(() => ciToken(server.server, {})).toThrow(CiTokenError);
  });
});
