/** What a port takes for no request at all: two values where one decides, no host or none that can be, fields that are malformed. */
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { flags, frame, listFrames, nothing, types } from "../../src/server/http2-frames.ts";
import type { OnePortOptions } from "../../src/server/one-port.ts";
import { isAuthority } from "../../src/server/request-fields.ts";
import { onLane, openPort } from "./open-port.ts";
import { RawHttp2Client, requestOf } from "./raw-http2-client.ts";

const protocolError = 1;

async function open(options: Partial<OnePortOptions>) {
  const opened = await openPort(false, { ...options, onRequest: (_request, response) => void response.end("ok") });
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
  ["the fast path", onLane({})],
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

describe.each<[string, Partial<OnePortOptions>]>([
  ["the fast path", onLane({})],
  ["the bridge to Node's", { takePlain: () => undefined }],
])("HTTP/2 by %s", (_way, options) => {
  async function dial(): Promise<RawHttp2Client> {
    const { number } = await open(options);
    const socket = connect(number, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    onTestFinished(() => void socket.destroy());
    return new RawHttp2Client(socket, []);
  }

  const plain = requestOf("/");
  const [withoutAuthority] = [plain.filter((text) => text !== ":authority" && text !== "here")];
  it.each([
    ["CR in a value", [...plain, "x-a", "a\rb"]],
    ["LF in a value", [...plain, "x-a", "a\nb"]],
    ["NUL in a value", [...plain, "x-a", "a\0b"]],
    ["another control character in a value", [...plain, "x-a", "a\x01b"]],
    ["a blank before a value", [...plain, "x-a", " b"]],
    ["a blank after a value", [...plain, "x-a", "b\t"]],
    ["LF in a value that decides", [...plain, "authorization", "Bearer a\n"]],
    ["upper case in a name", [...plain, "X-A", "b"]],
    ["a colon in a name", [...plain, "x:a", "b"]],
    ["a blank in a name", [...plain, "x a", "b"]],
    ["a name that is empty", [...plain, "", "b"]],
    ["a name beyond ASCII", [...plain, "x-\xe9", "b"]],
    ["Connection", [...plain, "connection", "close"]],
    ["Proxy-Connection", [...plain, "proxy-connection", "close"]],
    ["Keep-Alive", [...plain, "keep-alive", "1"]],
    ["Transfer-Encoding", [...plain, "transfer-encoding", "chunked"]],
    ["Upgrade", [...plain, "upgrade", "h2c"]],
    ["TE beyond trailers", [...plain, "te", "gzip"]],
    ["two credentials", [...plain, "authorization", "Bearer a", "authorization", "Bearer b"]],
    ["two content types", [...plain, "content-type", "a/b", "content-type", "a/c"]],
    ["two hosts", [...plain, "host", "here", "host", "here"]],
    ["a host that is not the authority", [...plain, "host", "there"]],
    ["a host with another port than the authority", [...plain, "host", "here:81"]],
    ["neither authority nor host", withoutAuthority],
    ["an empty authority", [...withoutAuthority, ":authority", ""]],
    ["an authority with a user", [...withoutAuthority.slice(0, 6), ":authority", "u@here"]],
    ["a host that is none", [...withoutAuthority, "host", "a b"]],
  ])("%s: PROTOCOL_ERROR of the stream, and the connection goes on", async (_what, fields) => {
    const client = await dial();
    client.socket.write(listFrames(1, fields, flags.endStream));
    expect(await client.endOf(1)).toBe(protocolError);
    client.ask(3, "/");
    await expect.poll(() => client.isAnswered(3)).toBe(true);
    expect(client.isAnswered(1)).toBe(false);
  });

  it.each([
    ["the authority as host, in another spelling", [...plain, "host", "HERE:80"]],
    ["a host alone", [...withoutAuthority, "host", "here"]],
    ["text beyond ASCII in a value", [...plain, "x-a", "\xe9"]],
    ["a tab within a value", [...plain, "x-a", "a\tb"]],
    ["a field twice that is a list", [...plain, "x-a", "a", "x-a", "b"]],
  ])("%s is answered", async (_what, fields) => {
    const client = await dial();
    client.socket.write(listFrames(1, fields, flags.endStream));
    await expect.poll(() => client.isAnswered(1)).toBe(true);
  });

  it("a malformed trailer is an error of the stream, and what was sent after a malformed list none of the connection", async () => {
    const client = await dial();
    client.ask(1, "/", { flag: 0 });
    client.socket.write(listFrames(1, ["x-t", "a\rb"], flags.endStream));
    expect(await client.endOf(1)).toBe(protocolError);
    client.socket.write(listFrames(3, [...plain, "x-a", "a\rb"], 0));
    client.socket.write(frame(types.data, flags.endStream, 3, nothing));
    client.ask(5, "/");
    await expect.poll(() => client.isAnswered(5)).toBe(true);
    expect(client.of(types.reset, 3)).toHaveLength(1);
  });
});
