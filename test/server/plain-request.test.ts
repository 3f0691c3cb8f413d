/** Whatever the reader takes for a plain request, Node's parser reads the same, byte for byte; and it takes what clients send. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPlainRequestReader, type PlainRequest } from "../../src/server/plain-request.ts";

const maxBytes = 16 * 1024;
const read = (bytes: string) => createPlainRequestReader(maxBytes).read(Buffer.from(bytes, "latin1"));

/** What the request says, in one shape for both readers. */
interface Said {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

const said = ({ method, url, headers, wholeBody }: PlainRequest): Said => ({
  method,
  url,
  headers: { ...headers },
  body: wholeBody.toString("latin1"),
});

/** All that Node reads from a connection that brings these bytes; undefined for what it refuses. */
async function readByNode(bytes: Buffer): Promise<(Said | undefined)[]> {
  const requests: Promise<Said | undefined>[] = [];
  const server = createServer({ maxHeaderSize: maxBytes, requireHostHeader: false });
  const saidBy = async (request: IncomingMessage): Promise<Said> => ({
    method: request.method,
    url: request.url,
    headers: { ...request.headers },
    body: (await buffer(request)).toString("latin1"),
  });
  server.on("request", (request, response) => {
    requests.push(saidBy(request));
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

const plain = "GET /a/b?c=d%20e HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a.b-c\r\n\r\n";

describe("a plain request", () => {
  it("is read with method, target, fields in lower case, and body", () => {
    const request = read("POST /x HTTP/1.1\r\nHOST:x\r\ncontent-length: 2 \r\nX-Empty:\r\n\r\nokGET");
    expect(request).toMatchObject({ method: "POST", url: "/x", httpVersionMajor: 1, complete: true, length: 60 });
    expect(request?.headers).toEqual({ host: "x", "content-length": "2", "x-empty": "" });
    expect(request?.wholeBody.toString()).toBe("ok");
  });

  it("has fields of its own, also when they came before", () => {
    const reader = createPlainRequestReader(maxBytes);
    const first = reader.read(Buffer.from(plain))!;
    first.headers["x-request-id"] = "mine";
    const second = reader.read(Buffer.from(plain))!;
    expect(second.headers).toEqual({ host: "x", authorization: "Bearer a.b-c" });
    const other = reader.read(Buffer.from(plain.replace("a.b-c", "a.b-d")))!;
    expect(other.headers.authorization).toBe("Bearer a.b-d");
    const longer = reader.read(Buffer.from(plain.replace("\r\n\r\n", "\r\nx-more: 1\r\n\r\n")))!;
    expect(longer.headers["x-more"]).toBe("1");
  });

  it("of the last does not make one of the next that is none", () => {
    const reader = createPlainRequestReader(maxBytes);
    expect(reader.read(Buffer.from(plain))).toBeDefined();
    expect(reader.read(Buffer.from(plain.replace("\r\n\r\n", "\r\nexpect: 100-continue\r\n\r\n")))).toBeUndefined();
    expect(reader.read(Buffer.from(plain.slice(0, -2)))).toBeUndefined();
    expect(reader.read(Buffer.from(plain))).toBeDefined();
  });

  it.each([
    ["HTTP/1.0", plain.replace("1.1", "1.0")],
    ["a method that is not plain", plain.replace("GET", "HEAD")],
    ["an unknown method", plain.replace("GET", "GETS")],
    ["an absolute target", plain.replace("/a", "http://x/a")],
    ["a target with a space", plain.replace("/a", "/a b")],
    ["a target that is not ASCII", plain.replace("/a", "/\xe4")],
    ["two spaces", plain.replace("GET ", "GET  ")],
    ["bare line feeds", plain.replaceAll("\r\n", "\n")],
    ["a bare carriage return", plain.replace("Host: x", "Host: x\ry")],
    ["no host", plain.replace("Host", "Hast")],
    ["no fields", "GET / HTTP/1.1\r\n\r\n"],
    ["a folded field", plain.replace("Bearer ", "Bearer\r\n ")],
    ["a space before the colon", plain.replace("Host:", "Host :")],
    ["a name with an underscore", plain.replace("Host", "Host: y\r\nx_y")],
    ["an inherited name", plain.replace("Host", "constructor: y\r\nHost")],
    ["a value with a tab", plain.replace("x\r\n", "x\ty\r\n")],
    ["a value that is not ASCII", plain.replace("x\r\n", "\xfc\r\n")],
    ["a zero byte", plain.replace("x\r\n", "x\0\r\n")],
    ["two fields of one name", plain.replace("Host", "A: 1\r\na: 1\r\nHost")],
    ["two lengths", plain.replace("Host", "Content-Length: 0\r\ncontent-length: 0\r\nHost")],
    ["a length with a sign", plain.replace("Host", "Content-Length: +0\r\nHost")],
    ["an empty length", plain.replace("Host", "Content-Length:\r\nHost")],
    ["a chunked body", plain.replace("Host", "Transfer-Encoding: chunked\r\nHost")],
    ["an upgrade", plain.replace("Host", "Upgrade: h2c\r\nHost")],
    ["an expectation", plain.replace("Host", "Expect: 100-continue\r\nHost")],
    ["trailers", plain.replace("Host", "Trailer: x\r\nHost")],
    ["a connection that closes", plain.replace("Host", "Connection: close\r\nHost")],
    ["a connection that says more", plain.replace("Host", "Connection: keep-alive, te\r\nHost")],
    ["too many fields", plain.replace("Host", `${Array.from({ length: 63 }, (_, i) => `a${i}: 1\r\n`).join("")}Host`)],
    ["a long head", plain.replace("x\r\n", `${"x".repeat(4096)}\r\n`)],
    ["half a body", `${plain.replace("Host", "Content-Length: 9\r\nHost")}half`],
    ["an empty line before it", `\r\n${plain}`],
  ])("is not one with %s", (_what, bytes) => {
    expect(read(bytes)).toBeUndefined();
  });

  it("is not one whatever is cut off", () => {
    const whole = plain.replace("Host", "Content-Length: 2\r\nHost").concat("ok");
    expect(read(whole)).toBeDefined();
    for (let end = 0; end < whole.length; end++) expect(read(whole.slice(0, end))).toBeUndefined();
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
  /** Most often what it should be. */
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

  it("reads the same from whatever is taken for plain", { timeout: 120_000 }, async () => {
    let taken = 0;
    const compare = async (bytes: Buffer) => {
      const ours = createPlainRequestReader(maxBytes).read(bytes);
      if (ours === undefined) return;
      taken++;
      const next = "GET /next HTTP/1.1\r\nhost: next\r\n\r\n";
      const [first, second] = await readByNode(Buffer.concat([bytes.subarray(0, ours.length), Buffer.from(next)]));
      expect(first).toEqual(said(ours));
      expect(second).toMatchObject({ url: "/next", body: "" });
    };
    await fc.assert(fc.asyncProperty(request, compare), { numRuns: 200_000 });
    expect(taken).toBeGreaterThan(5_000);
  });
});
