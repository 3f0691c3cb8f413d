/** Node's parser reads every simple request alike, byte for byte, and the requests of common clients are simple. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSimpleRequestReader, type SimpleRequest } from "../../../src/http/http1/parse-request.ts";
import { campaign } from "../../campaign.ts";

const maxBytes = 16 * 1024;
const read = (bytes: string) => createSimpleRequestReader(maxBytes).read(Buffer.from(bytes, "latin1"));

/** The contents of a request, in one form for both parsers. */
interface Contents {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

const contentsOf = ({ method, url, headers, bufferedBody }: SimpleRequest): Contents => ({
  method,
  url,
  headers: { ...headers },
  body: bufferedBody.toString("latin1"),
});

/** All that Node reads from a connection with these bytes; undefined for what it refuses. */
async function readByNode(bytes: Buffer): Promise<(Contents | undefined)[]> {
  const requests: Promise<Contents | undefined>[] = [];
  const server = createServer({ maxHeaderSize: maxBytes, requireHostHeader: false });
  const readContents = async (request: IncomingMessage): Promise<Contents> => ({
    method: request.method,
    url: request.url,
    headers: { ...request.headers },
    body: (await buffer(request)).toString("latin1"),
  });
  server.on("request", (request, response) => {
    requests.push(readContents(request));
    response.end();
  });
  const refuse = () => void requests.push(Promise.resolve(undefined));
  server.on("clientError", refuse).on("upgrade", refuse).on("checkExpectation", refuse);
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  server.emit("connection", socket);
  socket.push(bytes);
  socket.push(null);
  await once(socket, "end");
  await new Promise(setImmediate);
  return Promise.all(requests);
}

const simple = "GET /a/b?c=d%20e HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a.b-c\r\n\r\n";

describe("a simple request", () => {
  it("is read with method, target, fields in lower case, and body", () => {
    const request = read("POST /x HTTP/1.1\r\nHOST:x\r\ncontent-length: 2 \r\nX-Empty:\r\n\r\nokGET");
    expect(request).toMatchObject({ method: "POST", url: "/x", httpVersionMajor: 1, complete: true, length: 60 });
    expect(request?.headers).toEqual({ host: "x", "content-length": "2", "x-empty": "" });
    expect(request?.bufferedBody.toString()).toBe("ok");
  });

  it("tells whether the connection is to be closed", () => {
    const withField = (value: string) => read(simple.replace("Host", `Connection: ${value}\r\nHost`));
    expect(withField("close")?.isLast).toBe(true);
    expect(withField("Close")?.isLast).toBe(true);
    expect(withField("keep-alive")?.isLast).toBe(false);
    expect(read(simple)?.isLast).toBe(false);
  });

  it("has fields of its own, also when they came before", () => {
    const reader = createSimpleRequestReader(maxBytes);
    const first = reader.read(Buffer.from(simple))!;
    first.headers["x-request-id"] = "mine";
    const second = reader.read(Buffer.from(simple))!;
    expect(second.headers).toEqual({ host: "x", authorization: "Bearer a.b-c" });
    const other = reader.read(Buffer.from(simple.replace("a.b-c", "a.b-d")))!;
    expect(other.headers.authorization).toBe("Bearer a.b-d");
    const longer = reader.read(Buffer.from(simple.replace("\r\n\r\n", "\r\nx-more: 1\r\n\r\n")))!;
    expect(longer.headers["x-more"]).toBe("1");
  });

  it("of the last does not make one of the next that is none", () => {
    const reader = createSimpleRequestReader(maxBytes);
    expect(reader.read(Buffer.from(simple))).toBeDefined();
    expect(reader.read(Buffer.from(simple.replace("\r\n\r\n", "\r\nexpect: 100-continue\r\n\r\n")))).toBeUndefined();
    expect(reader.read(Buffer.from(simple.slice(0, -2)))).toBeUndefined();
    expect(reader.read(Buffer.from(simple))).toBeDefined();
  });

  it.each([
    ["HTTP/1.0", simple.replace("1.1", "1.0")],
    ["a method that is not simple", simple.replace("GET", "HEAD")],
    ["an unknown method", simple.replace("GET", "GETS")],
    ["an absolute target", simple.replace("/a", "http://x/a")],
    ["a target with a space", simple.replace("/a", "/a b")],
    ["a target that is not ASCII", simple.replace("/a", "/\xe4")],
    ["two spaces", simple.replace("GET ", "GET  ")],
    ["bare line feeds", simple.replaceAll("\r\n", "\n")],
    ["a bare carriage return", simple.replace("Host: x", "Host: x\ry")],
    ["no host", simple.replace("Host", "Hast")],
    ["no fields", "GET / HTTP/1.1\r\n\r\n"],
    ["a folded field", simple.replace("Bearer ", "Bearer\r\n ")],
    ["a space before the colon", simple.replace("Host:", "Host :")],
    ["a name with an underscore", simple.replace("Host", "Host: y\r\nx_y")],
    ["an inherited name", simple.replace("Host", "constructor: y\r\nHost")],
    ["a value with a tab", simple.replace("x\r\n", "x\ty\r\n")],
    ["a value that is not ASCII", simple.replace("x\r\n", "\xfc\r\n")],
    ["a zero byte", simple.replace("x\r\n", "x\0\r\n")],
    ["two fields of one name", simple.replace("Host", "A: 1\r\na: 1\r\nHost")],
    ["two lengths", simple.replace("Host", "Content-Length: 0\r\ncontent-length: 0\r\nHost")],
    ["a length with a sign", simple.replace("Host", "Content-Length: +0\r\nHost")],
    ["an empty length", simple.replace("Host", "Content-Length:\r\nHost")],
    ["a chunked body", simple.replace("Host", "Transfer-Encoding: chunked\r\nHost")],
    ["an upgrade", simple.replace("Host", "Upgrade: h2c\r\nHost")],
    ["an expectation", simple.replace("Host", "Expect: 100-continue\r\nHost")],
    ["trailers", simple.replace("Host", "Trailer: x\r\nHost")],
    ["a connection that says more", simple.replace("Host", "Connection: keep-alive, te\r\nHost")],
    ["too many fields", simple.replace("Host", `${Array.from({ length: 63 }, (_, i) => `a${i}: 1\r\n`).join("")}Host`)],
    ["a long head", simple.replace("x\r\n", `${"x".repeat(4096)}\r\n`)],
    ["half a body", `${simple.replace("Host", "Content-Length: 9\r\nHost")}half`],
    ["an empty line before it", `\r\n${simple}`],
  ])("is not one with %s", (_what, bytes) => {
    expect(read(bytes)).toBeUndefined();
  });

  it("is not one if anything is cut off", () => {
    const complete = simple.replace("Host", "Content-Length: 2\r\nHost").concat("ok");
    expect(read(complete)).toBeDefined();
    for (let end = 0; end < complete.length; end++) expect(read(complete.slice(0, end))).toBeUndefined();
  });
});

describe("Node's parser", () => {
  const name = fc.constantFrom(
    ...[
      "Host",
      "host",
      "Connection",
      "Content-Length",
      "Cookie",
      "X-A",
      "x-a",
      "__proto__",
      "constructor",
      "Te",
      "Date",
    ],
    ...[
      "Transfer-Encoding",
      "Upgrade",
      "Expect",
      "Trailer",
      "Accept",
      "Authorization",
      "Set-Cookie",
      "Keep-Alive",
      "a b",
      "",
    ],
  );
  const value = fc.oneof(
    fc.constantFrom(
      "x",
      "0",
      "2",
      "02",
      "+2",
      "2,2",
      "keep-alive",
      "Keep-Alive",
      "close",
      "chunked",
      "100-continue",
      " y ",
      "",
    ),
    fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 6 }),
  );
  /** Mostly the usual value. */
  const mostly = (usual: string, ...others: string[]) =>
    fc.oneof({ weight: 20, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
  const space = mostly(" ", "", "  ", "\t");
  const line = mostly("\r\n", "\n", "\r", "\r\n ", "");
  const field = fc.tuple(name, mostly(":", " :", ""), space, value, line).map((parts) => parts.join(""));
  const target = fc.oneof(
    fc.constantFrom("/", "/a?b=c", "*", "http://x/", "//", "/#a", '/"<>^`{|}', "/%zz"),
    fc
      .string({ unit: fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code)), maxLength: 9 })
      .map((text) => `/${text}`),
  );
  const head = fc
    .tuple(
      fc.constantFrom("GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "get"),
      space,
      target,
      space,
      mostly("HTTP/1.1", "HTTP/1.0", "http/1.1"),
      line,
    )
    .map((parts) => parts.join(""));
  const request = fc
    .tuple(
      head,
      mostly("Host: x\r\n", ""),
      fc.array(field, { maxLength: 4 }),
      line,
      fc.constantFrom("", "ok", "GET / HTTP/1.1\r\n\r\n"),
    )
    .map(([first, host, fields, empty, body]) =>
      Buffer.from(`${first}${host}${fields.join("")}${empty}${body}`, "latin1"),
    );

  const numRuns = campaign({ short: 20_000, full: 200_000 });

  it("reads every simple request alike", { timeout: 120_000 }, async () => {
    let taken = 0;
    const compare = async (bytes: Buffer) => {
      const ours = createSimpleRequestReader(maxBytes).read(bytes);
      if (ours === undefined) return;
      taken++;
      const next = "GET /next HTTP/1.1\r\nhost: next\r\n\r\n";
      const [first, second] = await readByNode(Buffer.concat([bytes.subarray(0, ours.length), Buffer.from(next)]));
      expect(first).toEqual(contentsOf(ours));
      if (ours.isLast) expect(second).toBeUndefined();
      else expect(second).toMatchObject({ url: "/next", body: "" });
    };
    await fc.assert(fc.asyncProperty(request, compare), { numRuns });
    expect(taken).toBeGreaterThan(numRuns / 40);
  });
});
