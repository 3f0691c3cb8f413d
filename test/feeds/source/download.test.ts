import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { download } from "../../../src/feeds/source/download.ts";
import { FeedBroken } from "../../../src/feeds/source/feed.ts";
import { readFeed } from "../read-feed.ts";
import { tarOf, zipOf } from "./archives.ts";

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
  const { files, refused } = await readFeed(base + path);
  expect([Object.keys(files), refused]).toEqual([names, {}]);
});

test.each([
  ["/around", "redirects more than 5 times"],
  ["/nowhere", "redirects to an invalid URL"],
  ["/no-location", " answers 302"],
  ["/none", " answers 404"],
  ["/to-metadata", "redirects to 169.254.169.254: the URL is not https"],
  ["/to-loopback", ": the URL is not https"],
  ["/to-plain-http", "redirects to example.com: the URL is not https"],
  ["/to-file", "the URL is not https"],
  ["/cut", "no complete response from "],
])("%s is refused", async (path, reason) => {
  const { files, refused } = await readFeed(base + path);
  expect([files, Object.keys(refused)]).toEqual([{}, [base + path]]);
  expect(refused[base + path]).toContain(reason);
});

test("a redirect to a name that resolves to a private address is refused", async () => {
  const resolve = async () => [{ address: "10.0.0.1", family: 4 }];
  await expect(download(`${base}/to-private-name`, { resolve })).rejects.toThrow(/not public/);
});

test.each(["/stalled", "/silent"])("a stalled response is aborted: %s", async (path) => {
  const read = async () => {
    const { body, close } = await download(base + path, { stallMs: 100 });
    return buffer(body).finally(close);
  };
  await expect(read()).rejects.toThrow(FeedBroken);
});

test.each(["/stalled", "/silent"])("a signal ends the download, and nothing is refused: %s", async (path) => {
  expect(await readFeed(base + path, { signal: AbortSignal.timeout(100) })).toMatchObject({ files: {}, refused: {} });
});

test.each(["http://user:secret@127.0.0.1/", "https://", "http://127.0.0.1:1/"])("%s is refused", async (address) => {
  const { refused } = await readFeed(address);
  expect(Object.keys(refused)).toEqual([address]);
  expect(Object.values(refused).join()).not.toContain("secret");
});
