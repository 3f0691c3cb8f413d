/** A server on an empty database of its own, and its clients, for the tests of the IAM domain through the port. */
import type { DescService } from "@bufbuild/protobuf";
import { type Client, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { startServer } from "../../src/app/index.ts";
import { type Config, readConfig } from "../../src/config/index.ts";
import { createLogger } from "../../src/log.ts";
import { type Life, onEveryDatabase, type TestDatabase } from "../databases/databases.ts";
import { fetchDocumented } from "./documented.ts";

/** What came back over REST. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any method; a wrong path fails the test
  readonly body: any;
}

/** A running server, its first group, and its administrator. */
export interface IamServer {
  readonly root: string;
  readonly admin: string;
  readonly database: TestDatabase;
  /** Calls with a token; `path` begins after the host, a body is sent as JSON. */
  rest(token: string, call: string, body?: unknown): Promise<Answer>;
  /** As {@link rest}, by the administrator; an answer other than 200 fails the test. */
  ok(call: string, body?: unknown): Promise<Answer["body"]>;
  grpc<S extends DescService>(service: S, token: string): Client<S>;
  /** A token for an identity. */
  tokenOf(identityUid: string): Promise<string>;
  /** A new identity in a group that holds nothing, with a token. */
  stranger(group: string): Promise<{ uid: string; token: string }>;
  /** A new identity in a group with a role there that holds the capabilities, by their enum names. */
  holderOf(group: string, ...capabilities: string[]): Promise<{ uid: string; token: string }>;
}

type Flags = Partial<Record<keyof Config, string>>;
type Suite = (server: () => IamServer) => void;

/** Declares a suite for every database; `server()` is that of the test that runs. */
export function onEveryServer(title: string, suite: Suite, flags: Flags = {}): void {
  declare(title, suite, flags, "test");
}

/** The same with one server for all tests of the suite, each of which has organisations and an issuer of its own. */
export function onEverySharedServer(title: string, suite: Suite, flags: Flags = {}): void {
  declare(title, suite, { rateLimitExchange: "off", rateLimitAddress: "off", ...flags }, "suite");
}

function declare(title: string, suite: Suite, flags: Flags, life: Life): void {
  const [before, after] = life === "test" ? [beforeEach, afterEach] : [beforeAll, afterAll];
  onEveryDatabase(
    title,
    (database) => {
      let server: IamServer;
      let stop: () => Promise<void>;
      before(async () => {
        ({ server, stop } = await start(database(), flags));
      });
      after(() => stop());
      suite(() => server);
    },
    life,
  );
}

async function start(database: TestDatabase, flags: Flags) {
  const given = { listen: "127.0.0.1:0", adminListen: "off", database: database.url, logLevel: "silent", ...flags };
  const config = readConfig({ flags: given, env: {}, warn: () => {} });
  const running = await startServer(config, createLogger("silent"));
  const { rootGroupUid: root, administratorUid } = running.installed!;
  const tokenOf = (uid: string) => running.mintToken(uid, 600);
  const admin = await tokenOf(administratorUid);
  let subjects = 0;

  async function rest(token: string, call: string, body?: unknown): Promise<Answer> {
    const [method = "", path = ""] = call.split(" ");
    const response = await fetchDocumented(`${running.baseUrl}${path}`, {
      method,
      headers: { ...(token !== "" && { authorization: `Bearer ${token}` }), "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  }

  async function ok(call: string, body?: unknown) {
    const answer = await rest(admin, call, body);
    if (answer.status !== 200) throw new Error(`${call}: ${JSON.stringify(answer)}`);
    return answer.body;
  }

  async function stranger(group: string) {
    const claimMatch = { issuer: "https://issuer.example.com", subject: `subject-${subjects++}` };
    const { uid } = await ok(`POST /iam/v2/identities/${group}`, { name: "stranger", claimMatch });
    return { uid, token: await tokenOf(uid) };
  }

  const server: IamServer = {
    root,
    admin,
    database,
    rest,
    ok,
    tokenOf,
    stranger,
    grpc: (service, token) => {
      const authorize: Interceptor = (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      };
      const transport = createGrpcTransport({ baseUrl: running.baseUrl, interceptors: [authorize] });
      return createClient(service, transport);
    },
    async holderOf(group, ...capabilities) {
      const identity = await stranger(group);
      const role = await ok(`POST /iam/v2/roles/${group}`, { name: "just enough", capabilities });
      await ok(`POST /iam/v2/roleBindings/${group}`, { identityUid: identity.uid, roleUid: role.uid });
      return identity;
    },
  };
  return { server, stop: () => running.stop() };
}

/** The ConnectError that a call fails with. */
export async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  try {
    await call;
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new Error("the call did not fail");
}
