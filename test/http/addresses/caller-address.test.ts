/** The address of a caller, through ports of every kind: HTTP/1.1 and HTTP/2, own and Node's, cleartext and TLS. */
import { once } from "node:events";
import { request as request1 } from "node:http";
import { connect as connect2, type IncomingHttpHeaders } from "node:http2";
import { request as request1s } from "node:https";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { connect as connectSecurely } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ProxySettings } from "../../../src/http/addresses/trusted-proxies.ts";
import { addressOf, type OnePortOptions } from "../../../src/http/index.ts";
import { certificate, type OpenPort, openPort, variants } from "../open-port.ts";

const trusted: ProxySettings = {
  networks: ["127.0.0.1", "10.0.0.0/8", "2001:db8:a::/48"],
  header: "x-forwarded-for",
  proxyProtocol: false,
};
const stranger = "127.0.0.2";

/** A call: where it comes from, the bytes that come first, and its header fields. */
interface Call {
  readonly from?: string;
  readonly first?: Buffer | string;
  readonly headers?: IncomingHttpHeaders;
}

/** The header of version 2 for a client over IPv4, with what follows the addresses. */
function v2(source: string, { command = 0x21, family = 0x11, more = "" } = {}): Buffer {
  const addresses = [...source.split(".").map(Number), 10, 0, 0, 9, 0x12, 0x34, 0x01, 0xbb];
  const content = Buffer.concat([Buffer.from(addresses), Buffer.from(more)]);
  const head = Buffer.from("\r\n\r\n\0\r\nQUIT\n\0\0\0\0", "latin1");
  head[12] = command;
  head[13] = family;
  head.writeUInt16BE(content.length, 14);
  return Buffer.concat([head, content]);
}

function v2Of6(): Buffer {
  const head = Buffer.from("\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x24", "latin1");
  const address = Buffer.from("20010db8000000000000000000000001", "hex");
  return Buffer.concat([head, address, address, Buffer.alloc(4)]);
}

describe.each(variants)("$variant", ({ secure, fastPath }) => {
  async function open(proxies?: ProxySettings, more: Partial<OnePortOptions> = {}): Promise<OpenPort> {
    const port = await openPort(secure, {
      proxies,
      onRequest: (request, response) => void response.end(String(addressOf(request, response))),
      ...(fastPath && {
        onBufferedRequest: (request, response) => {
          const address = String(addressOf(request, response));
          response.writeHead(200, { "content-length": address.length }).end(address, "latin1");
        },
        planFastPath: () => (request, response) => {
          const address = String(addressOf(request, response));
          response.writeHead(200, { "content-length": address.length }).end(address, "latin1");
        },
      }),
      http2: fastPath ? "own" : "node",
      ...more,
    });
    onTestFinished(() => port.port.close({ graceMs: 0 }));
    return port;
  }

  /** A connection on which the first bytes are sent. */
  async function dial({ number }: OpenPort, { from = "127.0.0.1", first }: Call): Promise<Socket> {
    const socket = connect({ port: number, host: "127.0.0.1", localAddress: from });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    if (first !== undefined) socket.write(first);
    return socket;
  }

  async function secured(port: OpenPort, call: Call, alpn: string): Promise<Duplex> {
    const socket = await dial(port, call);
    if (!secure) return socket;
    const inTls = connectSecurely({ socket, ca: certificate.cert, servername: "localhost", ALPNProtocols: [alpn] });
    inTls.on("error", () => {});
    await once(inTls, "secureConnect");
    return inTls;
  }

  /** What the port takes for the address, over HTTP/1.1. */
  async function over1(port: OpenPort, call: Call): Promise<string> {
    const connection = await secured(port, call, "http/1.1");
    const options = { headers: call.headers ?? {}, createConnection: () => connection };
    const sent = (secure ? request1s : request1)(port.origin, options as object).end();
    const [response] = await once(sent, "response");
    return text(response);
  }

  async function over2(port: OpenPort, call: Call): Promise<string> {
    const connection = await secured(port, call, "h2");
    const session = connect2(port.origin, { createConnection: () => connection });
    session.on("error", () => {});
    onTestFinished(() => session.destroy());
    return text(session.request({ ":path": "/", ...call.headers }));
  }

  async function expectBoth(port: OpenPort, call: Call, address: string): Promise<void> {
    expect(await over1(port, call)).toBe(address);
    expect(await over2(port, call)).toBe(address);
  }

  test("is that of the peer, whatever fields an untrusted peer sends", async () => {
    const headers = { "x-forwarded-for": "192.0.2.9", forwarded: "for=192.0.2.9", "x-real-ip": "192.0.2.9" };
    await expectBoth(await open(), { headers }, "127.0.0.1");
    await expectBoth(await open(trusted), { from: stranger, headers }, stranger);
  });

  test.each([
    ["192.0.2.9", "192.0.2.9"],
    ["198.51.100.1, 192.0.2.9", "192.0.2.9"],
    ["198.51.100.1, 192.0.2.9, 10.1.2.3,10.9.9.9", "192.0.2.9"],
    ["10.1.2.3, 10.9.9.9", "10.1.2.3"],
    ["192.0.2.9:4711", "192.0.2.9"],
    ["::ffff:192.0.2.9", "192.0.2.9"],
    ["2001:DB8:0:0::1", "2001:db8::1"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["192.0.2.9, 2001:db8:a::7", "192.0.2.9"],
    ["192.0.2.9, unknown, 10.1.2.3", "10.1.2.3"],
    ["192.0.2.9, fe80::1%eth0", "127.0.0.1"],
    ["192.0.2.9,", "127.0.0.1"],
  ])("is what a trusted proxy writes: %s", async (field, address) => {
    await expectBoth(await open(trusted), { headers: { "x-forwarded-for": field, forwarded: "for=1.2.3.4" } }, address);
  });

  test("is the right end of a field that comes in several lines", async () => {
    const headers = { "x-forwarded-for": ["198.51.100.1", "192.0.2.9", "10.0.0.1"] } as unknown as IncomingHttpHeaders;
    expect(await over1(await open(trusted), { headers })).toBe("192.0.2.9");
  });

  test.each([
    ["for=192.0.2.9", "192.0.2.9"],
    ['For="192.0.2.9:4711";proto=https;by=10.0.0.1', "192.0.2.9"],
    ['proto=http; for="[2001:db8::1]:80"', "2001:db8::1"],
    ["for=198.51.100.1, for=192.0.2.9, for=10.0.0.1", "192.0.2.9"],
    ['for=192.0.2.9;host="a, for=198.51.100.1"', "192.0.2.9"],
    ['for=192.0.2.9;host=";for=198.51.100.1"', "192.0.2.9"],
    ['for=", for="[2001:db8::1]:80"', "2001:db8::1"],
    ['"\\", for=192.0.2.9', "192.0.2.9"],
    ["for=198.51.100.1, for=unknown", "127.0.0.1"],
    ["for=198.51.100.1, for=_hidden", "127.0.0.1"],
    ["for=198.51.100.1, for=192.0.2.9;for=192.0.2.8", "127.0.0.1"],
    ["for=198.51.100.1, proto=https", "127.0.0.1"],
  ])("is what a trusted proxy writes as Forwarded: %s", async (field, address) => {
    const port = await open({ ...trusted, header: "forwarded" });
    await expectBoth(port, { headers: { forwarded: field, "x-forwarded-for": "1.2.3.4" } }, address);
  });

  const proxied = { ...trusted, proxyProtocol: true };

  test.each<[string, Buffer | string, string]>([
    ["version 1", "PROXY TCP4 192.0.2.9 10.0.0.9 4711 443\r\n", "192.0.2.9"],
    ["version 1, IPv6", "PROXY TCP6 2001:DB8::1 2001:db8::2 4711 443\r\n", "2001:db8::1"],
    ["version 1, unknown", "PROXY UNKNOWN\r\n", "127.0.0.1"],
    ["version 2", v2("192.0.2.9"), "192.0.2.9"],
    ["version 2, with more", v2("192.0.2.9", { more: "\x04\0\x03abc" }), "192.0.2.9"],
    ["version 2, IPv6", v2Of6(), "2001:db8::1"],
    ["version 2, of the proxy itself", v2("192.0.2.9", { command: 0x20 }), "127.0.0.1"],
    ["version 2, without a family", v2("192.0.2.9", { family: 0 }), "127.0.0.1"],
  ])("is that of the PROXY protocol, %s, and no field counts", async (_, first, address) => {
    const headers = { "x-forwarded-for": "1.2.3.4", forwarded: "for=1.2.3.4" };
    await expectBoth(await open(proxied), { first, headers }, address);
  });

  test("is read from a header that comes byte by byte", async () => {
    const port = await open(proxied);
    for (const header of [v2("192.0.2.9"), Buffer.from("PROXY TCP4 192.0.2.9 10.0.0.9 4711 443\r\n")]) {
      const socket = await dial(port, {});
      socket.setNoDelay();
      for (const byte of header) {
        socket.write(Buffer.of(byte));
        await new Promise(setImmediate);
      }
      if (secure) continue; // the handshake follows, see above
      socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
      expect(await text(socket)).toMatch(/192\.0\.2\.9$/);
    }
  });

  test.each<[string, Buffer | string]>([
    ["is missing", "GET / HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["is missing before HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["is missing before TLS", Buffer.of(22, 3, 1, 0, 5)],
    ["has no address", "PROXY TCP4 192.0.2.999 10.0.0.9 4711 443\r\n"],
    ["has an address of another family", "PROXY TCP4 2001:db8::1 10.0.0.9 4711 443\r\n"],
    ["has no port", "PROXY TCP4 192.0.2.9 10.0.0.9 4711 65536\r\n"],
    ["has another family", "PROXY SCTP 192.0.2.9 10.0.0.9 4711 443\r\n"],
    ["is too long", `PROXY TCP4 ${"1".repeat(120)}`],
    ["has no end", `PROXY UNKNOWN ${"1".repeat(120)}\r\n`],
    ["has another command", v2("192.0.2.9", { command: 0x22 })],
    ["has another version", v2("192.0.2.9", { command: 0x11 })],
    ["has an unknown family", v2("192.0.2.9", { family: 0x41 })],
    ["is too short for its family", v2("192.0.2.9", { family: 0x21 })],
    ["is too long in version 2", v2("192.0.2.9", { more: "x".repeat(4096) })],
  ])("a trusted peer whose header %s is closed without an answer", async (_, first) => {
    const socket = await dial(await open(proxied), { first });
    expect(await text(socket)).toBe("");
  });

  test("a trusted peer that sends no header in time is closed", async () => {
    const socket = await dial(await open(proxied, { limits: { firstBytesMs: 50 } }), { first: "PROXY " });
    expect(await text(socket)).toBe("");
  });

  test("an untrusted peer's header of the PROXY protocol is not a header", async () => {
    const port = await open(proxied);
    await expectBoth(port, { from: stranger }, stranger);
    const socket = await dial(port, { from: stranger, first: "PROXY TCP4 192.0.2.9 10.0.0.9 4711 443\r\n\r\n" });
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe("shares of connections", () => {
  async function open(options: Partial<OnePortOptions>) {
    const refused: (string | undefined)[][] = [];
    const port = await openPort(false, { onRefusal: (...what) => refused.push(what), ...options });
    onTestFinished(() => port.port.close({ graceMs: 0 }));
    return { port, refused };
  }

  /** Opens a connection; whether it is still open when it is asked. */
  async function ask({ number }: OpenPort, from: string, first = ""): Promise<{ socket: Socket; answer: string }> {
    const socket = connect({ port: number, host: "127.0.0.1", localAddress: from });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    socket.write(`${first}GET / HTTP/1.1\r\nhost: x\r\n\r\n`);
    const answered = await Promise.race([once(socket, "data"), once(socket, "close")]);
    return { socket, answer: String(answered[0]).slice(0, 12) };
  }

  test("an address that has its share gets no more, others do, and it does again", async () => {
    const { port, refused } = await open({ limits: { maxConnectionsPerAddress: 3 } });
    const mine = [];
    for (let i = 0; i < 3; i++) mine.push(await ask(port, "127.0.0.1"));
    expect(mine.map(({ answer }) => answer)).toEqual(Array(3).fill("HTTP/1.1 200"));
    expect((await ask(port, "127.0.0.1")).answer).not.toContain("HTTP");
    expect(refused).toEqual([["max-connections-per-address", "127.0.0.1"]]);
    expect((await ask(port, "127.0.0.2")).answer).toBe("HTTP/1.1 200");
    mine[0]!.socket.destroy();
    await expect.poll(async () => (await ask(port, "127.0.0.1")).answer).toBe("HTTP/1.1 200");
  });

  test("a trusted proxy has none, and its clients have theirs by the PROXY protocol", async () => {
    const limits = { maxConnectionsPerAddress: 1 };
    const { port } = await open({ limits, proxies: trusted });
    for (let i = 0; i < 4; i++) expect((await ask(port, "127.0.0.1")).answer).toBe("HTTP/1.1 200");
    const { port: proxied, refused } = await open({ limits, proxies: { ...trusted, proxyProtocol: true } });
    const headerOf = (client: string) => `PROXY TCP4 ${client} 10.0.0.9 1 1\r\n`;
    for (const client of ["192.0.2.1", "192.0.2.2", "10.0.0.1", "10.0.0.1"])
      expect((await ask(proxied, "127.0.0.1", headerOf(client))).answer).toBe("HTTP/1.1 200");
    for (let i = 0; i < 2; i++)
      expect((await ask(proxied, "127.0.0.1", "PROXY UNKNOWN\r\n")).answer).toBe("HTTP/1.1 200");
    expect((await ask(proxied, "127.0.0.1", headerOf("192.0.2.1"))).answer).not.toContain("HTTP");
    expect(refused).toEqual([["max-connections-per-address", "192.0.2.1"]]);
  });

  test("all connections together have a limit", async () => {
    const { port, refused } = await open({ limits: { maxConnections: 2 } });
    for (const from of ["127.0.0.1", "127.0.0.2"]) expect((await ask(port, from)).answer).toBe("HTTP/1.1 200");
    expect((await ask(port, "127.0.0.3")).answer).not.toContain("HTTP");
    expect(refused).toEqual([["max-connections", "127.0.0.3"]]);
  });

  test("a connection whose descriptor is kept for others is closed", async () => {
    const { port, refused } = await open({ limits: { maxDescriptor: 3 } });
    expect((await ask(port, "127.0.0.1")).answer).not.toContain("HTTP");
    expect(refused).toEqual([["file-descriptors", "127.0.0.1"]]);
  });
});
