/** Which calls are repeated, and which are not. */
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport, type HandlerContext } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import {
  createPlatformClient,
  PlatformError,
  ReposService,
  type TokenSource,
  type TransportFactory,
  type TransportOptions,
} from "../../src/client/package.ts";
import { grpc } from "../../src/client-node/package.ts";
import { startWithFolder } from "../remote/server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;
beforeAll(async () => {
  server = await startWithFolder();
});
afterAll(() => server.stop());

const soon = { initialDelayMs: 1 };

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error as PlatformError,
  );

describe.each<[string, Pick<TransportOptions, "transport">]>([
  ["Connect", {}],
  ["gRPC", { transport: grpc }],
])("over %s", (_, over) => {
  /** Loses the answers of the first calls, which the server has carried out. */
  const losing =
    (answers: number): TransportFactory =>
    (options) => {
      const inner = (over.transport ?? createConnectTransport)(options);
      let lost = 0;
      return {
        ...inner,
        async unary(...call) {
          const answer = await inner.unary(...call);
          if (lost++ < answers) throw new ConnectError("lost", Code.Unavailable);
          return answer;
        },
      };
    };
  const clientOf = (options: Partial<TransportOptions>) =>
    createPlatformClient({ server: server.server, token: server.token, retry: soon, ...over, ...options });

  test("a create whose answers are lost is carried out once", async () => {
    const { uid: parent } = await clientOf({}).groups.create({ parent: server.root, group: { name: "once" } });
    const client = clientOf({ transport: losing(2) });
    const repo = await client.repos.create({ parent, repo: { name: "repo" } });
    expect(await client.repos.list({ uidp: { childrenOf: parent } }).page()).toMatchObject({
      totalCount: 1n,
      repos: [{ uid: repo.uid }],
    });
  });

  test("errors are PlatformErrors with their details", async () => {
    const error = await failureOf(clientOf({}).identities.create({ parent: server.root, identity: {} }));
    expect(error).toBeInstanceOf(PlatformError);
    expect(error).toMatchObject({ code: Code.InvalidArgument, violations: [{ field: "name" }] });
  });

  test("a server that cannot be reached is UNAVAILABLE", async () => {
    const { port } = await freePort();
    const client = clientOf({ server: `http://127.0.0.1:${port}` });
    expect(await failureOf(client.ping.ping({}))).toMatchObject({ code: Code.Unavailable });
  });

  test("a token that is refused is replaced once", async () => {
    const asked: string[] = [];
    const sourceOf = (...tokens: string[]): TokenSource => ({
      async token() {
        asked.push(tokens[0]!);
        return tokens[0];
      },
      refused: (token) => token === tokens[0] && tokens.shift() !== undefined && tokens.length > 0,
    });
    const client = clientOf({ token: sourceOf("first", server.token) });
    expect((await client.repos.list().page()).$typeName).toBe("platform.registry.v2.ListReposResponse");
    expect(asked).toEqual(["first", server.token]);
    const refused = clientOf({ token: sourceOf("first", "second", server.token) });
    expect(await failureOf(refused.repos.list().page())).toMatchObject({ code: Code.Unauthenticated });
    expect(await failureOf(clientOf({ token: "static" }).repos.list().page())).toMatchObject({
      code: Code.Unauthenticated,
    });
  });

  test("a call has a deadline", async () => {
    const never: TokenSource = {
      token: () => new Promise(() => {}),
    };
    const error = await failureOf(clientOf({ token: never, timeoutMs: 50 }).ping.ping({}));
    expect(error).toBeInstanceOf(PlatformError);
    expect(error.code).toBe(Code.DeadlineExceeded);
  });
});

/** A port where nothing listens. */
async function freePort(): Promise<AddressInfo> {
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address() as AddressInfo;
  await new Promise((resolve) => listener.close(resolve));
  return address;
}

test("connections that break are UNAVAILABLE, and the call is repeated", async () => {
  let broken = 0;
  const proxy = createServer((request, response) => {
    if (broken++ < 2) return request.socket.destroy();
    const { method, headers, url } = request;
    request.pipe(
      forward(`${server.server}${url}`, { method: method!, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      }),
    );
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close().closeAllConnections());
  const { port } = proxy.address() as AddressInfo;
  const client = createPlatformClient({ server: `http://127.0.0.1:${port}`, token: server.token, retry: soon });
  const repo = await client.repos.create({ parent: server.root, repo: { name: "through-proxy" } });
  expect(await client.repos.get(repo.uid)).toEqual(repo);
  expect(broken).toBe(4);
});

/** A server that answers the first calls with errors, and what it was called with. */
function failing(errors: readonly Error[], options: Partial<TransportOptions> = {}) {
  const calls: Headers[] = [];
  const answer = (_: unknown, { requestHeader }: HandlerContext) => {
    calls.push(requestHeader);
    const error = errors[calls.length - 1];
    if (error !== undefined) throw error;
    return {};
  };
  const transport: TransportFactory = (transportOptions) =>
    createRouterTransport((router) => void router.service(ReposService, { getRepo: answer, createRepo: answer }), {
      transport: transportOptions,
    });
  const client = createPlatformClient({ server: "http://platform.example.com", transport, retry: soon, ...options });
  return { calls, client };
}

const unavailable = new ConnectError("", Code.Unavailable);
const exhausted = (seconds?: bigint) =>
  new ConnectError(
    "",
    Code.ResourceExhausted,
    undefined,
    seconds === undefined
      ? []
      : [{ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay: { seconds } }) }],
  );

test.each<[string, Error[], TransportOptions["retry"], number]>([
  ["UNAVAILABLE", [unavailable, unavailable], soon, 3],
  ["RESOURCE_EXHAUSTED with a delay", [exhausted(0n)], soon, 2],
])("%s is repeated", async (_, errors, retry, attempts) => {
  const { client, calls } = failing(errors, { retry: retry! });
  await client.repos.get("uid");
  expect(calls).toHaveLength(attempts);
});

const often = Array.from({ length: 9 }, () => unavailable);

test.each<[string, Error[], Partial<TransportOptions>, Code, number]>([
  ["RESOURCE_EXHAUSTED without a delay", [exhausted()], {}, Code.ResourceExhausted, 1],
  ["a delay beyond the deadline", [exhausted(3600n)], {}, Code.ResourceExhausted, 1],
  ["ABORTED", [new ConnectError("", Code.Aborted)], {}, Code.Aborted, 1],
  ["INTERNAL", [new ConnectError("", Code.Internal)], {}, Code.Internal, 1],
  ["UNAVAILABLE, five times", often, {}, Code.Unavailable, 5],
  ["UNAVAILABLE, as often as wanted", often, { retry: { ...soon, maxAttempts: 2 } }, Code.Unavailable, 2],
  ["UNAVAILABLE without retries", often, { retry: false }, Code.Unavailable, 1],
])("%s is final", async (_, errors, options, code, attempts) => {
  const { client, calls } = failing(errors, options);
  expect(await failureOf(client.repos.get("uid"))).toMatchObject({ code });
  expect(calls).toHaveLength(attempts);
});

test("an abort ends the wait", async () => {
  const controller = new AbortController();
  const { client, calls } = failing([unavailable], { retry: { initialDelayMs: 50_000, maxDelayMs: 50_000 } });
  const call = failureOf(client.repos.get("uid", { signal: controller.signal }));
  await expect.poll(() => calls.length).toBe(1);
  controller.abort();
  expect(await call).toMatchObject({ code: Code.Canceled });
});

test("a write has an idempotency key, the same for each attempt", async () => {
  const { client, calls } = failing([unavailable]);
  await client.repos.create({ parent: "uid" });
  await client.repos.create({ parent: "uid" });
  await client.repos.create({ parent: "uid" }, { headers: { "idempotency-key": "mine" } });
  await client.repos.get("uid");
  const keys = calls.map((headers) => headers.get("idempotency-key"));
  expect(keys).toEqual([keys[0], keys[0], keys[2], "mine", null]);
  expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(keys[2]).not.toBe(keys[0]);
});

test("a write without retries has no idempotency key", async () => {
  const { client, calls } = failing([], { retry: false });
  await client.repos.create({ parent: "uid" });
  expect(calls[0]!.get("idempotency-key")).toBeNull();
});
