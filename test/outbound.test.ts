import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  fetchLimited,
  isForbiddenAddress,
  OutboundFailed,
  type OutboundOptions,
  OutboundRefused,
  parseOutboundUrl,
} from "../src/outbound.ts";

const notPublic = [
  // loopback in the spellings the URL standard reads
  [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "127.0.0.1.",
    "127.255.255.254",
  ],
  [
    "[::1]",
    "::1",
    "[0:0:0:0:0:0:0:1]",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "a.localhost",
    "a.localhost.",
    "①②⑦.0.0.1",
    "127。0。0。1",
  ],
  // an IPv4 address inside an IPv6 one
  [
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:8.8.8.8]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::8.8.8.8]",
    "[::ffff:0:7f00:1]",
  ],
  [
    "[64:ff9b::7f00:1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::808:808]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
  ],
  // metadata services and agents of hosts
  [
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "[::ffff:a9fe:a9fe]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
  ],
  // private, shared, local to the link or site
  [
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.0.1",
  ],
  ["[fc00::1]", "[fdff::1]", "[fe80::1]", "[febf::1]", "[fec0::1]", "fe80::1%eth0", "fe80::1%25eth0"],
  // unspecified, broadcast, multicast, reserved, documentation, benchmarking
  [
    "0",
    "0.0.0.0",
    "0.1.2.3",
    "[::]",
    "255.255.255.255",
    "224.0.0.1",
    "239.255.255.255",
    "[ff02::1]",
    "240.0.0.1",
    "[4000::1]",
    "[100::1]",
  ],
  [
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "198.18.0.1",
    "192.88.99.1",
    "[2001:db8::1]",
    "[3fff::1]",
    "[2001:2::1]",
    "[5f00::1]",
  ],
  // malformed
  ["", "a b", "a/b", "a@b", "a:b", "256.1.1.1", "1.2.3.4.5", "[::1", "::1]", "[::1]:80", "a:80", "a?b", "a#b", "%00"],
].flat();

const publicOrName = [
  "8.8.8.8",
  "1.1.1.1",
  "134744072",
  "172.32.0.1",
  "100.128.0.1",
  "[2606:4700:4700::1111]",
  "2001:4860:4860::8888",
].concat([
  "example.com",
  "example.com.",
  "localhost.example.com",
  "mylocalhost",
  "127.0.0.1.example.com",
  "metadata.google.internal",
  "xn--bcher-kva.de",
]);

describe("isForbiddenAddress", () => {
  it.each(notPublic)("forbids %s", (host) => expect(isForbiddenAddress(host)).toBe(true));
  it.each(publicOrName)("does not forbid %s", (host) => expect(isForbiddenAddress(host)).toBe(false));
});

describe("parseOutboundUrl", () => {
  const always = [
    "https://example.com",
    "https://8.8.8.8:8443/a?b#c",
    "https://[2606:4700::1]/",
    "HTTPS://EXAMPLE.COM/",
  ];
  const loopback = [
    "http://localhost:1/a",
    "http://127.0.0.1",
    "http://[::1]:8080/",
    "https://127.1/",
    "http://LOCALHOST./",
  ];
  const never = [
    ...[
      "http://example.com",
      "ftp://example.com",
      "file:///etc/passwd",
      "data:,a",
      "gopher://127.0.0.1",
      "ws://127.0.0.1",
      "//example.com",
    ],
    ...[
      "https://u@example.com",
      "https://u:p@example.com",
      "https://:p@example.com",
      "http://u@127.0.0.1",
      "",
      "https://",
      "example.com",
    ],
    ...[
      "https://10.0.0.1",
      "http://10.0.0.1",
      "http://169.254.169.254",
      "https://[::ffff:127.0.0.1]",
      "http://[::ffff:127.0.0.1]",
      "https://0/",
    ],
    ...[
      "http://127.0.0.1.example.com",
      "http://localhost.example.com",
      "http://[fe80::1]",
      "https://256.0.0.1",
      `https://example.com/${"a".repeat(2048)}`,
    ],
  ];
  it.each(always)("allows %s", (url) => expect(parseOutboundUrl(url, false)).toEqual(new URL(url)));
  it.each(loopback)("allows %s by setting only", (url) => {
    expect(parseOutboundUrl(url, true)).toEqual(new URL(url));
    expect(() => parseOutboundUrl(url, false)).toThrow(OutboundRefused);
  });
  it.each(never)("refuses %s", (url) => {
    expect(() => parseOutboundUrl(url, false)).toThrow(OutboundRefused);
    expect(() => parseOutboundUrl(url, true)).toThrow(OutboundRefused);
  });
});

describe("fetchLimited", () => {
  const routes: Record<string, RequestListener> = {
    "/hello": (_request, response) => response.end("hello"),
    "/echo": (request, response) => {
      response.setHeader(
        "x-seen",
        JSON.stringify([request.method, request.headers["x-a"], request.headers["accept-encoding"]]),
      );
      request.pipe(response);
    },
    "/redirect": (_request, response) => response.writeHead(302, { location: "/hello" }).end(),
    "/100": (_request, response) => response.end("a".repeat(100)),
    "/101": (_request, response) => response.end("a".repeat(101)),
    "/chunks": (_request, response) => {
      for (let i = 0; i < 101; i++) response.write("a");
      response.end();
    },
    "/endless": (_request, response) => {
      const write = () => {
        while (!response.destroyed && response.write("a".repeat(65_536)));
      };
      response.on("drain", write);
      write();
    },
    "/gzip": (_request, response) =>
      response.setHeader("content-encoding", "gzip").end(gzipSync(Buffer.alloc(10_000_000))),
    "/silent": () => {},
    "/half": (_request, response) => response.write("a"),
    "/cut": (_request, response) => {
      response.setHeader("content-length", "10").write("a", () => response.destroy());
    },
    "/head-too-large": (_request, response) => response.setHeader("x-a", "a".repeat(100_000)).end(),
  };
  let server: Server;
  let base: string;
  const get = (path: string, options: Partial<OutboundOptions> = {}) =>
    fetchLimited(base + path, { allowLoopbackHttp: true, maxBytes: 100, ...options });
  const requests: string[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(request.url!);
      routes[request.url!]!(request, response);
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it("gives status, headers and body", async () => {
    const answer = await get("/echo", { method: "POST", headers: { "x-a": "b" }, body: "text" });
    expect(answer.status).toBe(200);
    expect(answer.headers["x-seen"]).toBe('["POST","b","identity"]');
    expect(Buffer.from(answer.body).toString()).toBe("text");
  });

  it("does not follow redirects", async () => {
    requests.length = 0;
    expect((await get("/redirect")).status).toBe(302);
    expect(requests).toEqual(["/redirect"]);
  });

  it("takes a body up to the limit", async () => expect((await get("/100")).body).toHaveLength(100));
  it.each(["/101", "/chunks", "/endless", "/gzip"])("fails on too much: %s", (path) =>
    expect(get(path)).rejects.toThrow(OutboundFailed),
  );
  it.each(["/silent", "/half"])("fails when time is up: %s", (path) =>
    expect(get(path, { timeoutMs: 100 })).rejects.toThrow(OutboundFailed),
  );
  it.each(["/cut", "/head-too-large"])("fails on a broken response: %s", (path) =>
    expect(get(path)).rejects.toThrow(OutboundFailed),
  );
  it("does not decompress", () => expect(get("/gzip", { maxBytes: 1_000_000 })).rejects.toThrow(OutboundFailed));
  it.each(["/100", "/endless", "/half", "/gzip"])("reads no body when none is wanted: %s", async (path) => {
    expect(await get(path, { maxBytes: 0 })).toMatchObject({ status: 200, body: new Uint8Array() });
  });
  it("stops on the caller's signal", async () => {
    const controller = new AbortController();
    const answer = get("/silent", { signal: controller.signal });
    controller.abort();
    await expect(answer).rejects.toThrow(OutboundFailed);
    await expect(get("/hello", { signal: controller.signal })).rejects.toThrow(OutboundFailed);
  });
  it("fails when nothing listens", () =>
    expect(fetchLimited("http://127.0.0.1:1", { allowLoopbackHttp: true })).rejects.toThrow(OutboundFailed));

  describe("with names", () => {
    const resolvingTo =
      (...addresses: string[]) =>
      async () =>
        addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    const port = () => new URL(base).port;

    it.each([
      [["127.0.0.1"]],
      [["10.0.0.1"]],
      [["169.254.169.254"]],
      [["::1"]],
      [["::ffff:7f00:1"]],
      [["64:ff9b::7f00:1"]],
      [["fe80::1%eth0"]],
      [["8.8.8.8", "127.0.0.1"]],
      [["127.0.0.1", "8.8.8.8"]],
      [["2606:4700::1", "fd00::1"]],
    ])("refuses a name that resolves to %j", async (addresses) => {
      requests.length = 0;
      const options = { resolve: resolvingTo(...addresses) };
      await expect(fetchLimited("https://rebound.example", { allowLoopbackHttp: false, ...options })).rejects.toThrow(
        OutboundRefused,
      );
      await expect(
        fetchLimited(`https://rebound.example:${port()}`, { allowLoopbackHttp: true, ...options }),
      ).rejects.toThrow(OutboundRefused);
      expect(requests).toEqual([]);
    });

    it("connects to the address that was checked, resolving once per request", async () => {
      let resolutions = 0;
      const resolve = async () => {
        resolutions += 1;
        return await resolvingTo("127.0.0.1")();
      };
      for (const expected of [1, 2]) {
        const { body } = await fetchLimited(`http://a.localhost:${port()}/hello`, { allowLoopbackHttp: true, resolve });
        expect(Buffer.from(body).toString()).toBe("hello");
        expect(resolutions).toBe(expected);
      }
    });

    it.each(["8.8.8.8", "10.0.0.1", "169.254.169.254"])("refuses localhost at %s", (address) =>
      expect(
        fetchLimited(`http://localhost:${port()}/hello`, { allowLoopbackHttp: true, resolve: resolvingTo(address) }),
      ).rejects.toThrow(OutboundRefused),
    );

    it("fails when a name has no address or cannot be resolved", async () => {
      await expect(
        fetchLimited("https://a.example", { allowLoopbackHttp: false, resolve: resolvingTo() }),
      ).rejects.toThrow(OutboundFailed);
      const resolve = () => Promise.reject(new Error("SERVFAIL"));
      await expect(fetchLimited("https://a.example", { allowLoopbackHttp: false, resolve })).rejects.toThrow(
        OutboundFailed,
      );
    });

    it.each([
      ["the time-out", { timeoutMs: 50 }],
      ["the caller's signal", { timeoutMs: 60_000, signal: AbortSignal.timeout(50) }],
    ])("does not wait for resolution beyond %s", (_, limit) =>
      expect(
        fetchLimited("https://a.example", { allowLoopbackHttp: false, ...limit, resolve: () => new Promise(() => {}) }),
      ).rejects.toThrow(OutboundFailed),
    );

    it("reaches localhost through the system's resolver", async () =>
      expect((await fetchLimited(`http://localhost:${port()}/hello`, { allowLoopbackHttp: true })).status).toBe(200));
  });
});
