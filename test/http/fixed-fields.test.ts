/** The header fields of every response of a port, whoever answers. */
import { once } from "node:events";
import { connect as connect2 } from "node:http2";
import { describe, expect, onTestFinished, test } from "vitest";
import type { OnePortOptions } from "../../src/http/port.ts";
import { certificate, onFastPath, openPort, variants } from "./open-port.ts";

describe.each(variants)("$variant", ({ secure, fastPath }) => {
  async function open(options: Partial<OnePortOptions> = {}) {
    const own = fastPath ? onFastPath(options) : { http2: "node" as const };
    const opened = await openPort(secure, { hsts: true, ...own, ...options });
    onTestFinished(() => opened.port.close({ graceMs: 0 }));
    return opened;
  }

  function expectFields(field: (name: string) => unknown): void {
    expect(field("x-content-type-options")).toBe("nosniff");
    expect(field("strict-transport-security")).toBe(secure ? "max-age=31536000" : undefined);
  }

  const inHead = (head: string) => (name: string) => {
    const lines = head
      .split("\r\n\r\n")[0]!
      .split("\r\n")
      .filter((line) => line.toLowerCase().startsWith(`${name}: `));
    expect(lines.length).toBeLessThan(2);
    return lines[0]?.slice(name.length + 2);
  };

  const failing = {
    onRequest: () => {
      throw new Error("a bug");
    },
  };
  const requests: [string, string, Partial<OnePortOptions>, number][] = [
    ["an answer", "GET / HTTP/1.1\r\nhost: x\r\n\r\n", {}, 200],
    ["the last answer", "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", {}, 200],
    ["an answer by Node", "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", {}, 200],
    ["a handler that fails", "GET / HTTP/1.1\r\nhost: x\r\n\r\n", failing, 500],
    ["a request without a host", "GET / HTTP/1.1\r\n\r\n", {}, 400],
    ["nonsense", "nonsense\r\n\r\n", {}, 400],
    ["CONNECT", "CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n", {}, 400],
    ["an expectation", "GET / HTTP/1.1\r\nhost: x\r\nexpect: x\r\n\r\n", {}, 417],
    ["a large header", `GET / HTTP/1.1\r\nhost: x\r\na: ${"b".repeat(20_000)}\r\n\r\n`, {}, 431],
    ["a slow header", "GET / HTTP/1.1\r\nhost:", { limits: { headersMs: 50, requestMs: 50 } }, 408],
  ];
  test.each(requests)("%s", async (_, bytes, options, status) => {
    const { socket, received } = await (await open(options)).dial();
    socket.write(bytes);
    await expect.poll(received).toMatch(/\r\n\r\n/);
    expect(received()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expectFields(inHead(received()));
  });

  test.each<[string, object, Partial<OnePortOptions>, number]>([
    ["an answer", {}, {}, 200],
    ["an answer by Node", { "content-type": "x", expect: "100-continue" }, {}, 200],
    ["a handler that fails", {}, failing, 500],
    ["a large header", { a: "b".repeat(20_000) }, {}, 431],
  ])("%s over HTTP/2", async (_, headers, options, status) => {
    const session = connect2((await open(options)).origin, { ca: certificate.cert });
    onTestFinished(() => session.destroy());
    const stream = session.request({ ":path": "/", ...headers });
    stream.on("error", () => {});
    const [answer] = await once(stream, "response");
    expect(answer[":status"]).toBe(status);
    expectFields((name) => answer[name]);
  });
});

test("a refusal in cleartext does not ask for TLS only", async () => {
  const { port, dial } = await openPort(true, { hsts: true });
  onTestFinished(() => port.close({ graceMs: 0 }));
  const { socket, received } = await dial(null);
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await expect.poll(received).toContain("x-content-type-options: nosniff");
  expect(received()).not.toContain("strict-transport-security");
});
