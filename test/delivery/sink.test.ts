/** One attempt to deliver: the request, the meaning of responses, and hostile sinks. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { HTTP } from "cloudevents";
import { Webhook } from "standardwebhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../src/delivery/failure.ts";
import type { Event } from "../../src/delivery/index.ts";
import { createDeliveryTokens } from "../../src/delivery/signing.ts";
import { createSink, type SinkOptions } from "../../src/delivery/sink.ts";
import { secret, sign } from "./deliverer.ts";
import { hostileSinks, type LocalSink, startEndlessSink, startSink } from "./sinks.ts";

const group = "0123456789abcdef0123456789abcdef01234567";
const event: Event = {
  id: "6b1f8a52-3f0e-4a51-8a43-0b8a5c1d9e77",
  timeMs: Date.UTC(2026, 10, 21, 1, 2, 3, 4),
  type: "dev.platform.api.iam.group.created.v1",
  source: "https://platform.example.com/iam/v2/groups",
  subject: `${group}/0123456789abcdef`,
  extensions: { group, image: 'a "b" 100% é\u{1f600}' },
  data: '{"actor":{"subject":"é"},"body":{}}',
};

function openSink(options: Partial<SinkOptions> = {}) {
  const tokens = createDeliveryTokens(sign, Date.now);
  const sink = createSink({ tokens, timeoutMs: 700, allowLoopbackHttp: true, now: Date.now, ...options });
  onTestFinished(() => sink.close());
  return (url: string, one = event) =>
    sink.post(one, {
      uid: `${group}/fedcba9876543210`,
      sink: url,
      signingSecrets: [secret],
      isPaused: false,
      resumeTimeMs: 0,
    });
}

describe("a request", () => {
  test("is a CloudEvent in binary mode, as the cloudevents package reads it", async () => {
    const sink = await startSink();
    await openSink()(sink.url);
    const [{ headers, body }] = sink.received as [LocalSink["received"][number]];
    const read = HTTP.toEvent<{ actor: object }>({ headers, body }) as unknown as Record<string, unknown>;
    expect(read).toMatchObject({
      id: event.id,
      specversion: "1.0",
      type: event.type,
      source: event.source,
      subject: event.subject,
      group,
      audience: "customer",
      data: JSON.parse(event.data),
    });
    expect(headers["ce-time"]).toBe("2026-11-21T01:02:03.004Z");
    expect(headers["ce-image"]).toBe("a%20%22b%22%20100%25%20%C3%A9%F0%9F%98%80");
    expect(headers["user-agent"]).toBe("platform-events/2");
  });

  test("has a signature of its body that the standardwebhooks package verifies", async () => {
    const sink = await startSink();
    await openSink()(sink.url);
    const [{ headers, body }] = sink.received as [LocalSink["received"][number]];
    const webhook = new Webhook(secret);
    expect(webhook.verify(body, headers as Record<string, string>)).toEqual(JSON.parse(event.data));
    expect(headers["webhook-id"]).toBe(event.id);
    expect(() => webhook.verify(body.replace("é", "e"), headers as Record<string, string>)).toThrow();
    expect(() => new Webhook("whsec_AAAA").verify(body, headers as Record<string, string>)).toThrow();
  });

  test("carries a token for the subscription's group and this body", async () => {
    const sink = await startSink();
    await openSink()(sink.url);
    const [{ headers, body }] = sink.received as [LocalSink["received"][number]];
    const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
    expect(JSON.parse(headers.authorization!.replace("Bearer ", ""))).toEqual({
      subject: `webhook:${group}`,
      audience: "customer",
      ttlSeconds: 3600,
      claims: { webhook: { digest } },
    });
  });

  test("reuses an idle connection", async () => {
    const sink = await startSink();
    const post = openSink();
    for (let i = 0; i < 5; i++) await post(sink.url);
    expect(sink.received).toHaveLength(5);
    expect(sink.connections()).toBe(1);
  });
});

test.each([
  [200, "delivered"],
  [202, "delivered"],
  [204, "delivered"],
  [299, "delivered"],
  [301, "failed"],
  [308, "failed"],
  [400, "failed"],
  [401, "failed"],
  [404, "failed"],
  [410, "gone"],
  [429, "failed"],
  [500, "failed"],
  [503, "failed"],
] as const)("%i is %s", async (status, outcome) => {
  const { url } = await startSink(() => status);
  expect(await openSink()(url)).toEqual({ outcome, result: String(status), retryAfterMs: 0 });
});

test("the status counts even if the body never ends", async () => {
  const sink = await startEndlessSink(200);
  const post = openSink();
  for (let i = 0; i < 2; i++) expect(await post(sink.url)).toMatchObject({ outcome: "delivered", result: "200" });
  expect(sink.connections()).toBe(2);
});

test("Retry-After is read", async () => {
  const sink = await startSink(() => ({ status: 503, headers: { "retry-after": "7" } }));
  expect(await openSink()(sink.url)).toEqual({ outcome: "failed", result: "503", retryAfterMs: 7000 });
});

const results: Readonly<Record<string, string>> = {
  "never answers": "timeout",
  "sends a byte now and then and no status": "timeout",
  "answers 500 a byte at a time": "500",
  "answers 500 without end": "500",
  "redirects to itself": "307",
  "has a self-signed certificate": "tls: self-signed certificate",
  "resets the connection": "connection closed",
  "closes the connection": "connection closed",
  "sends headers without end": "no HTTP",
  "speaks another protocol": "no HTTP",
};

describe("a sink that", () => {
  test.each(Object.keys(hostileSinks))("%s fails within the timeout", async (name) => {
    const sink = await hostileSinks[name]!();
    const post = openSink();
    const [first, second] = await Promise.all([post(sink.url), post(sink.url)]);
    expect([first.outcome, second.outcome]).toEqual(["failed", "failed"]);
    expect(first.result).toBe(results[name] ?? "failed");
    expect(sink.received.every(({ path }) => path === "/hook")).toBe(true);
  });
});

test.each([
  ["a name that does not resolve", "https://sink.invalid/", "ENOTFOUND", "dns"],
  ["a resolver that is down", "https://sink.example/", "EAI_AGAIN", "dns"],
])("the result for %s is %s", async (_, url, code, result) => {
  const resolve = () => Promise.reject(Object.assign(new Error("resolver"), { code }));
  expect(await openSink({ resolve })(url)).toEqual({ outcome: "failed", result, retryAfterMs: 0 });
});

test("the result for a port without a listener is `connection refused`", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  expect(await openSink()(`http://127.0.0.1:${port}/`)).toMatchObject({
    outcome: "failed",
    result: "connection refused",
  });
});

test.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls: self-signed certificate"],
  ["CERT_HAS_EXPIRED", "tls: expired certificate"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "tls: certificate of another host"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "tls: handshake failed"],
  ["UND_ERR_CONNECT_TIMEOUT", "timeout"],
  ["ENETUNREACH", "unreachable"],
  ["toString", "failed"],
])("the word for %s is %s", (code, words) => {
  const cause = Object.assign(new Error("secret of the sink"), { code });
  expect(failureOf(new Error("no answer", { cause }))).toBe(words);
  expect(failureOf(new Error("no answer", { cause: new AggregateError([cause, new Error("other")]) }))).toBe(words);
});

/** Spellings of addresses of this machine or its network. PORT is that of a sink that listens on loopback. */
const spellings = [
  "http://127.0.0.1:PORT/", // not https
  "http://localhost:PORT/",
  "https://127.0.0.1:PORT/",
  "https://127.1:PORT/",
  "https://0x7f.1:PORT/",
  "https://0x7f000001:PORT/",
  "https://2130706433:PORT/",
  "https://017700000001:PORT/",
  "https://127.0.0.1.:PORT/",
  "https://①②⑦.0.0.1:PORT/",
  "https://0.0.0.0:PORT/",
  "https://0:PORT/",
  "https://localhost:PORT/",
  "https://LOCALHOST.:PORT/",
  "https://a.localhost:PORT/",
  "https://[::1]:PORT/",
  "https://[::]:PORT/",
  "https://[0:0:0:0:0:0:0:1]:PORT/",
  "https://[::ffff:127.0.0.1]:PORT/",
  "https://[::ffff:7f00:1]:PORT/",
  "https://[::127.0.0.1]:PORT/",
  "https://[64:ff9b::7f00:1]:PORT/",
  "https://[2002:7f00:1::]:PORT/",
  "https://169.254.169.254/",
  "https://[fd00:ec2::254]/",
  "https://[fe80::1]:PORT/",
  "https://10.0.0.1:PORT/",
  "https://192.168.0.1:PORT/",
  "https://100.64.0.1:PORT/",
  "https://224.0.0.1:PORT/",
  "https://[ff02::1]:PORT/",
  "https://user:secret@example.com:PORT/",
  "ftp://example.com/",
  "file:///etc/passwd",
  "nothing",
];

describe("an address that is not public", () => {
  test.each(spellings)("%s is refused without a connection", async (spelling) => {
    const sink = await startSink();
    const post = openSink({ allowLoopbackHttp: false, resolve: async () => expect.fail("it was resolved") });
    const attempt = await post(spelling.replace("PORT", new URL(sink.url).port));
    expect(attempt).toEqual({ outcome: "failed", result: "refused", retryAfterMs: 0 });
    expect(sink.connections()).toBe(0);
  });

  test.each([
    ["127.0.0.1", 4],
    ["::1", 6],
    ["::ffff:127.0.0.1", 6],
    ["10.1.2.3", 4],
    ["169.254.169.254", 4],
    ["64:ff9b::7f00:1", 6],
  ])(
    "a name that resolves to %s, alone or beside a public one, is refused without a connection",
    async (address, family) => {
      const sink = await startSink();
      const { port } = new URL(sink.url);
      const answers = [
        [{ address, family }],
        [
          { address: "8.8.8.8", family: 4 },
          { address, family },
        ],
      ];
      for (const addresses of answers) {
        const post = openSink({ allowLoopbackHttp: false, resolve: async () => addresses });
        expect(await post(`https://sink.example.com:${port}/`)).toMatchObject({ result: "refused" });
      }
      expect(sink.connections()).toBe(0);
    },
  );

  test("a name is refused once it resolves to one", async () => {
    const sink = await startSink();
    const { port } = new URL(sink.url);
    const answers = [
      { address: "192.0.2.1", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    const post = openSink({ allowLoopbackHttp: false, resolve: async () => [answers.shift()!] });
    for (let i = 0; i < 2; i++)
      expect(await post(`https://sink.example.com:${port}/`)).toMatchObject({ result: "refused" });
    expect(answers).toEqual([]);
    expect(sink.connections()).toBe(0);
  });
});

test("a token is cached by event and group for half its lifetime; a failure is not cached", async () => {
  let nowMs = 0;
  const signed: string[] = [];
  const tokens = createDeliveryTokens(
    async ({ subject, claims }) => {
      if (signed.length === 3) {
        signed.push("");
        throw new Error("no key");
      }
      signed.push(`${subject} ${JSON.stringify(claims)}`);
      return String(signed.length);
    },
    () => nowMs,
  );
  expect(await Promise.all([tokens(event, "g"), tokens(event, "g"), tokens(event, "h")])).toEqual(["1", "1", "2"]);
  expect(await tokens({ ...event, id: "other", data: "{}" }, "g")).toBe("3");
  nowMs = 31 * 60_000;
  await expect(tokens(event, "g")).rejects.toThrow("no key");
  expect(await tokens(event, "g")).toBe("5");
  expect(await tokens(event, "g")).toBe("5");
});
