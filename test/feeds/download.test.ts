import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { download } from "../../src/feeds/download.ts";
import { FeedBroken } from "../../src/feeds/feed.ts";
import { tarOf, zipOf } from "./archives.ts";
import { witness } from "./feed-witness.ts";

const member = { name: "a.json", content: "{}" };
const routes: Record<string, RequestListener> = {
  "/a.json": (_, response) => response.end("{}"),
  "/zip": (_, response) => response.end(zipOf(member)),
  "/tgz?x=1": async (_, response) => response.end(gzipSync(await tarOf(member))),
  "/lines": (_, response) => response.end("{}\n[]\n"),
  "/moved": (_, response) => response.writeHead(302, { location: "/a.json" }).end("elsewhere"),
  "/moved-with-port": (request, response) =>
    response.writeHead(301, { location: `http://${request.headers.host}/a.json` }).end(),
  "/around": (_, response) => response.writeHead(307, { location: "/around" }).end(),
  "/nowhere": (_, response) => response.writeHead(302, { location: "http://[" }).end(),
  "/no-location": (_, response) => response.writeHead(302).end(),
  "/to-metadata": (_, response) => response.writeHead(302, { location: "http://169.254.169.254/a.json" }).end(),
  "/to-loopback": (request, response) =>
    response.writeHead(302, { location: `http://127.0.0.2:${request.socket.localPort}/a.json` }).end(),
  "/to-private-name": (_, response) => response.writeHead(302, { location: "https://inside.example/a.json" }).end(),
  "/to-plain-http": (_, response) => response.writeHead(302, { location: "http://example.com/a.json" }).end(),
  "/to-file": (_, response) => response.writeHead(302, { location: "file:///etc/passwd" }).end(),
  "/none": (_, response) => response.writeHead(404).end(),
  "/cut": (_, response) => response.writeHead(200, { "content-length": "9" }).write("{", () => response.destroy()),
  "/stalled": (_, response) => response.writeHead(200, { "content-length": "9" }).write("{"),
  "/silent": () => {},
};

let server: Server;
let base: string;

beforeAll(async () => {
  server = createServer((request, response) => void routes[request.url!]!(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test.each([
  ["/a.json", ["a.json"]],
  ["/zip", ["a.json"]],
  ["/tgz?x=1", ["a.json"]],
  ["/lines", ["lines:1", "lines:2"]],
  ["/moved", ["a.json"]],
  ["/moved-with-port", ["a.json"]],
])("%s is read", async (path, names) => {
  const { files, refused } = await witness(base + path);
  expect([Object.keys(files), refused]).toEqual([names, {}]);
});

test.each([
  ["/around", "redirects more than 5 times"],
  ["/nowhere", "redirects to what is no address"],
  ["/no-location", " answers 302"],
  ["/none", " answers 404"],
  ["/to-metadata", "redirects to 169.254.169.254: the URL is not https"],
  ["/to-loopback", ": the URL is not https"],
  ["/to-plain-http", "redirects to example.com: the URL is not https"],
  ["/to-file", "the URL is not https"],
  ["/cut", "no whole answer from "],
])("%s is refused", async (path, reason) => {
  const { files, refused } = await witness(base + path);
  expect([files, Object.keys(refused)]).toEqual([{}, [base + path]]);
  expect(refused[base + path]).toContain(reason);
});

test("a redirect to a name inside is refused when it is resolved", async () => {
  const resolve = async () => [{ address: "10.0.0.1", family: 4 }];
  await expect(download(`${base}/to-private-name`, { resolve })).rejects.toThrow(/not public/);
});

test.each(["/stalled", "/silent"])("an answer that stalls is given up: %s", async (path) => {
  const read = async () => {
    const { body, close } = await download(base + path, { stallMs: 100 });
    return buffer(body).finally(close);
  };
  await expect(read()).rejects.toThrow(FeedBroken);
});

test.each(["/stalled", "/silent"])("a signal ends it, and nothing is refused: %s", async (path) => {
  expect(await witness(base + path, { signal: AbortSignal.timeout(100) })).toMatchObject({ files: {}, refused: {} });
});

test.each(["http://user:secret@127.0.0.1/", "https://", "http://127.0.0.1:1/"])("%s is refused", async (address) => {
  const { refused } = await witness(address);
  expect(Object.keys(refused)).toEqual([address]);
  expect(Object.values(refused).join()).not.toContain("secret");
});
