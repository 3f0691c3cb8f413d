/** Requests that a port refuses: repeated fields that must be unique, a missing or invalid host, malformed fields. */
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { emptyBuffer, flags, frame, listFrames, types } from "../../src/http/http2/frames.ts";
import { HeaderReader } from "../../src/http/http2/hpack/hpack.ts";
import type { OnePortOptions } from "../../src/http/port.ts";
import { isAuthority } from "../../src/http/request-fields.ts";
import { RawHttp2Client, requestOf } from "./http2/raw-client.ts";
import { onFastPath, openPort } from "./open-port.ts";

const protocolError = 1;

async function open(options: Partial<OnePortOptions>) {
  const opened = await openPort(false, {
    ...options,
    onRequest: ({ headers }, response) => void response.end(JSON.stringify(headers)),
  });
  onTestFinished(() => opened.port.close({ graceMs: 0 }));
  return opened;
}

describe("isAuthority", () => {
  it.each(["a", "a.example:443", "127.0.0.1:1", "[::1]", "[::1]:80", "a:", "xn--a-0ga.example", "a_b", "a%20b"])(
    "%j is",
    (text) => {
      expect(isAuthority(text)).toBe(true);
    },
  );

  it.each(["", ":80", "a b", "a/b", "a@b", "a:b", "a:80:80", "::1", "[::1", "a?b", "a#b", "a\\b", "a%2", "a,b c", "ü"])(
    "%j is not",
    (text) => {
      expect(isAuthority(text)).toBe(false);
    },
  );
});

describe.each([
  ["the fast path", onFastPath({})],
  ["Node's", {}],
])("HTTP/1.1 by %s", (_way, options) => {
  async function ask(...lines: string[]): Promise<string> {
    const { socket, received } = await (await open(options)).dial();
    socket.write(`${["POST / HTTP/1.1", ...lines, "content-length: 0"].join("\r\n")}\r\n\r\n`);
    await expect.poll(received).toMatch(/^HTTP\/1\.1 \d+/);
    socket.destroy();
    return received().slice(9, 12);
  }

  it.each([
    ["two hosts", ["host: a", "host: b"]],
    ["one host twice", ["host: a", "Host: a"]],
    ["no host", []],
    ["an empty host", ["host:"]],
    ["a host with a blank", ["host: a b"]],
    ["a host with a user", ["host: u@a"]],
    ["a host with a path", ["host: a/b"]],
    ["two credentials", ["host: a", "authorization: Bearer a", "authorization: Bearer b"]],
    ["two content types", ["host: a", "content-type: application/json", "Content-Type: text/plain"]],
  ])("%s: 400", async (_what, lines) => {
    expect(await ask(...lines)).toBe("400");
  });

  it.each(["xchunked", "identity", "chunked, gzip"])("the transfer coding %s: 400, in full", async (coding) => {
    const { socket, received } = await (await open(options)).dial();
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: ${coding}\r\n\r\n0\r\n\r\n`);
    await expect.poll(received).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\n\r\n./);
    socket.destroy();
  });

  it("one of each: 200", async () => {
    expect(await ask("host: a:1", "authorization: Bearer a", "content-type: text/plain", "x-a: 1", "x-a: 2")).toBe(
      "200",
    );
  });
});

it("HTTP/1.0 need not name its host, but not two", async () => {
  const port = await open({});
  const ask = async (...lines: string[]) => {
    const { socket, closed } = await port.dial();
    socket.write(`${["GET / HTTP/1.0", ...lines].join("\r\n")}\r\n\r\n`);
    return (await closed).slice(9, 12);
  };
  expect([await ask(), await ask("host: a"), await ask("host: a", "host: b")]).toEqual(["200", "200", "400"]);
});

const valid = requestOf("/");
const withoutAuthority = valid.filter((text) => text !== ":authority" && text !== "here");

/** Fields that nghttp2 drops: with `http2: "node"` the rest of the request is served. */
const droppedByNode: [what: string, fields: string[]][] = [
  ["CR in a value", ["x-a", "a\rb"]],
  ["LF in a value", ["x-a", "a\nb"]],
  ["NUL in a value", ["x-a", "a\0b"]],
  ["another control character in a value", ["x-a", "a\x01b"]],
  ["LF in a value that decides", ["authorization", "Bearer a\n"]],
  ["a colon in a name", ["x:a", "b"]],
  ["a blank in a name", ["x a", "b"]],
  ["a name that is empty", ["", "b"]],
  ["a name beyond ASCII", ["x-\xe9", "b"]],
];

async function dialHttp2(options: Partial<OnePortOptions>): Promise<RawHttp2Client> {
  const { number } = await open(options);
  const socket = connect(number, "127.0.0.1").on("error", () => {});
  await once(socket, "connect");
  onTestFinished(() => void socket.destroy());
  return new RawHttp2Client(socket, []);
}

async function expectStreamError(options: Partial<OnePortOptions>, fields: readonly string[]): Promise<void> {
  const client = await dialHttp2(options);
  client.socket.write(listFrames(1, fields, flags.endStream));
  expect(await client.endOf(1)).toBe(protocolError);
  client.ask(3, "/");
  await expect.poll(() => client.isAnswered(3)).toBe(true);
  expect(client.isAnswered(1)).toBe(false);
}

describe.each<[string, Partial<OnePortOptions>]>([
  ["the fast path", onFastPath({})],
  ["the bridge to Node's", {}],
  ["Node's", { http2: "node" }],
])("HTTP/2 by %s", (_way, options) => {
  it.each([
    ["a blank before a value", [...valid, "x-a", " b"]],
    ["a blank after a value", [...valid, "x-a", "b\t"]],
    ["upper case in a name", [...valid, "X-A", "b"]],
    ["Connection", [...valid, "connection", "close"]],
    ["Proxy-Connection", [...valid, "proxy-connection", "close"]],
    ["Keep-Alive", [...valid, "keep-alive", "1"]],
    ["Transfer-Encoding", [...valid, "transfer-encoding", "chunked"]],
    ["Upgrade", [...valid, "upgrade", "h2c"]],
    ["TE beyond trailers", [...valid, "te", "gzip"]],
    ["two credentials", [...valid, "authorization", "Bearer a", "authorization", "Bearer b"]],
    ["two content types", [...valid, "content-type", "a/b", "content-type", "a/c"]],
    ["two hosts", [...valid, "host", "here", "host", "here"]],
    ["a host that is not the authority", [...valid, "host", "there"]],
    ["a host with another port than the authority", [...valid, "host", "here:81"]],
    ["neither authority nor host", withoutAuthority],
    ["an empty authority", [...withoutAuthority, ":authority", ""]],
    ["an authority with a user", [...withoutAuthority.slice(0, 6), ":authority", "u@here"]],
    ["a host that is none", [...withoutAuthority, "host", "a b"]],
  ])("%s: PROTOCOL_ERROR of the stream, and the connection goes on", (_what, fields) =>
    expectStreamError(options, fields),
  );

  it.each([
    ["the authority as host, in another spelling", [...valid, "host", "HERE:80"]],
    ["a host alone", [...withoutAuthority, "host", "here"]],
    ["text beyond ASCII in a value", [...valid, "x-a", "\xe9"]],
    ["a tab within a value", [...valid, "x-a", "a\tb"]],
    ["a field twice that is a list", [...valid, "x-a", "a", "x-a", "b"]],
  ])("%s is answered", async (_what, fields) => {
    const client = await dialHttp2(options);
    client.socket.write(listFrames(1, fields, flags.endStream));
    await expect.poll(() => client.isAnswered(1)).toBe(true);
  });

  it("CONNECT: 400", async () => {
    const client = await dialHttp2(options);
    client.socket.write(listFrames(1, [":method", "CONNECT", ":authority", "here:1"], flags.endHeaders));
    await expect.poll(() => client.isAnswered(1)).toBe(true);
    expect(new HeaderReader(1000).read(client.of(types.headers, 1)[0]!.payload).fields).toContain("400");
  });
});

describe.each<[string, Partial<OnePortOptions>]>([
  ["the fast path", onFastPath({})],
  ["the bridge to Node's", {}],
])("HTTP/2 by %s", (_way, options) => {
  it.each(droppedByNode)("%s: PROTOCOL_ERROR of the stream, and the connection goes on", (_what, fields) =>
    expectStreamError(options, [...valid, ...fields]),
  );

  it("a malformed trailer is a stream error, and what follows a malformed list is ignored", async () => {
    const client = await dialHttp2(options);
    client.ask(1, "/", { flag: 0 });
    client.socket.write(listFrames(1, ["x-t", "a\rb"], flags.endStream));
    expect(await client.endOf(1)).toBe(protocolError);
    client.socket.write(listFrames(3, [...valid, "x-a", "a\rb"], 0));
    client.socket.write(frame(types.data, flags.endStream, 3, emptyBuffer));
    client.ask(5, "/");
    await expect.poll(() => client.isAnswered(5)).toBe(true);
    expect(client.of(types.reset, 3)).toHaveLength(1);
  });
});

it.each(droppedByNode)("HTTP/2 by Node's drops a field with %s", async (_what, fields) => {
  const client = await dialHttp2({ http2: "node" });
  client.socket.write(listFrames(1, [...valid, ...fields], flags.endStream));
  client.socket.write(listFrames(3, valid, flags.endStream));
  expect(await client.answerOf(1)).toEqual(await client.answerOf(3));
});
