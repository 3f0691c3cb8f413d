import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { openPackages } from "../../../src/feeds/index.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let stop: (() => Promise<unknown>) | undefined;
afterEach(() => stop?.());

/** Reads documents of packages, with the reports. */
async function read(address: string, ecosystem: Ecosystem, names: string[], wait = async (_ms: number) => {}) {
  const refused: string[] = [];
  const missing: string[] = [];
  const report = {
    refuse: (name: string, reason: string) => void refused.push(`${name}: ${reason}`),
    skip() {},
    advance() {},
  };
  const files: string[] = [];
  const options = { ecosystem, report, missing: (name: string) => void missing.push(name), wait };
  for await (const { name, format, bytes } of openPackages(address, names, options))
    files.push(`${name} ${format} ${Buffer.from(bytes)}`);
  return { files, missing, refused };
}

/** Starts a registry below `/base/` that answers by path, and records requests. */
async function serve(answers: Readonly<Record<string, string | Answer>>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url!);
    const answer = answers[request.url!];
    if (typeof answer === "function") answer(request, response);
    else response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stop = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  return { asked, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/` };
}

const failing: Answer = (_, response) => response.writeHead(500).end();

const metadata = (release: string) =>
  `<metadata><groupId>org.example</groupId><artifactId>w</artifactId><versioning>${release}<versions/></versioning></metadata>`;

test("npm, with and without a scope", async () => {
  const { address } = await serve({ "/base/@example%2Fw": "scoped", "/base/w": "plain" });
  expect(await read(address, Ecosystem.JAVASCRIPT, ["@example/w", "w"])).toEqual({
    files: ["@example/w json scoped", "w json plain"],
    missing: [],
    refused: [],
  });
});

test("PyPI, with a redirect to the canonical name", async () => {
  const { address } = await serve({
    "/base/Widgets/json": (_, response) => response.writeHead(301, { location: "/base/widgets/json" }).end(),
    "/base/widgets/json": "project",
  });
  expect((await read(address, Ecosystem.PYTHON, ["Widgets"])).files).toEqual(["Widgets json project"]);
});

test.each([
  ["<latest>2-rc</latest><release>1</release>", ["org.example:w:1 xml pom of 1"]],
  ["<latest>2-rc</latest>", ["org.example:w:2-rc xml pom of 2-rc"]],
  ["<release>3</release>", []],
  ["", []],
])("Maven, with the POM of %j", async (release, poms) => {
  const { address } = await serve({
    "/base/org/example/w/maven-metadata.xml": metadata(release),
    "/base/org/example/w/1/w-1.pom": "pom of 1",
    "/base/org/example/w/2-rc/w-2-rc.pom": "pom of 2-rc",
  });
  expect(await read(address, Ecosystem.JAVA, ["org.example:w"])).toEqual({
    files: [`org.example:w xml ${metadata(release)}`, ...poms],
    missing: [],
    refused: [],
  });
});

test("Maven, with invalid metadata", async () => {
  const { address } = await serve({ "/base/org/example/w/maven-metadata.xml": "<metadata" });
  expect((await read(address, Ecosystem.JAVA, ["org.example:w"])).files).toEqual(["org.example:w xml <metadata"]);
});

test("packages that do not exist are missing", async () => {
  const { address } = await serve({ "/base/gone": (_, response) => response.writeHead(410).end() });
  expect(await read(address, Ecosystem.JAVASCRIPT, ["gone", "w"])).toEqual({
    files: [],
    missing: ["gone", "w"],
    refused: [],
  });
  expect((await read(address, Ecosystem.PYTHON, ["w"])).missing).toEqual(["w"]);
  expect((await read(address, Ecosystem.JAVA, ["g:w"])).missing).toEqual(["g:w"]);
});

test("temporary failures are retried after Retry-After", async () => {
  let attempts = 0;
  const waits: number[] = [];
  const { address } = await serve({
    "/base/w"(_, response) {
      attempts++;
      if (attempts === 1) response.writeHead(429, { "retry-after": "7" }).end();
      else if (attempts === 2) response.writeHead(503).end();
      else response.end("found");
    },
  });
  const { files } = await read(address, Ecosystem.JAVASCRIPT, ["w"], async (ms) => void waits.push(ms));
  expect([files, waits.length, waits[0]]).toEqual([["w json found"], 2, 7000]);
});

test.each([
  ["another status", (_, response) => response.writeHead(403).end(), /the registry answers 403/],
  [
    "a redirect to a private address",
    (_, response) => response.writeHead(302, { location: "https://10.0.0.1/w" }).end(),
    /not public/,
  ],
  ["a redirect without end", (_, response) => response.writeHead(302, { location: "/base/w" }).end(), /redirects more/],
  [
    "an answer that is compressed",
    (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x"),
    /compressed/,
  ],
] satisfies [string, Answer, RegExp][])("refuses %s, and goes on", async (_, answer, reason) => {
  const { address } = await serve({ "/base/w": answer, "/base/x": "found" });
  const { files, refused } = await read(address, Ecosystem.JAVASCRIPT, ["w", "x"]);
  expect(files).toEqual(["x json found"]);
  expect(refused).toEqual([expect.stringMatching(reason)]);
});

test("no more packages are requested after three failures in a row", async () => {
  const { address, asked } = await serve({ "/base/a": failing, "/base/b": failing, "/base/c": failing });
  const { refused } = await read(address, Ecosystem.JAVASCRIPT, ["a", "b", "c", "d"]);
  expect(refused).toEqual([
    expect.stringMatching(/^a: /),
    expect.stringMatching(/^b: /),
    expect.stringMatching(/^c: /),
    expect.stringMatching(/: failed 3 times in a row: /),
  ]);
  expect(asked).not.toContain("/base/d");
});

test.each([
  [Ecosystem.JAVASCRIPT, "..", /is not part of a name/],
  [Ecosystem.JAVASCRIPT, "", /is not the name/],
  [Ecosystem.PYTHON, "a b", /is not the name/],
  [Ecosystem.JAVA, "widgets", /is not GROUP:ARTIFACT/],
  [Ecosystem.JAVA, "a:b:c", /is not GROUP:ARTIFACT/],
  [Ecosystem.JAVA, "a..b:c", /is not part of a name/],
])("makes no request for %i %j", async (ecosystem, name, reason) => {
  const { address, asked } = await serve({});
  expect((await read(address, ecosystem, [name])).refused).toEqual([expect.stringMatching(reason)]);
  expect(asked).toEqual([]);
});

test.each([
  ["nowhere", /^nowhere: is not an http/],
  ["file:///etc/passwd", /is not an http/],
  ["https://user:secret@registry.example.com", /^the address: contains credentials/],
])("refuses the address %s", async (address, reason) => {
  expect((await read(address, Ecosystem.PYTHON, ["w"])).refused).toEqual([expect.stringMatching(reason)]);
});
