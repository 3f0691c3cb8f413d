import { describe, expect, it } from "vitest";
import { readSimpleHead } from "../../../src/http/http2/simple-fields.ts";

const request = { ":method": "POST", ":scheme": "http", ":path": "/a?b=c", ":authority": "h" };

function fieldsOf(fields: readonly string[], isTooLarge = false) {
  return readSimpleHead({ fields, isTooLarge, listBytes: 0, blockBytes: 0 });
}

const listOf = (fields: Record<string, string>) => Object.entries(fields).flat();

it("reads a simple request", () => {
  const fields = listOf({ ...request, "content-type": "application/grpc", te: "trailers", "x-empty": "" });
  expect(fieldsOf(fields)).toEqual({
    method: "POST",
    url: "/a?b=c",
    headers: { "content-type": "application/grpc", te: "trailers", "x-empty": "" },
  });
});

describe("what is not simple", () => {
  const { ":path": _, ...withoutPath } = request;
  const { ":authority": __, ...withoutAuthority } = request;
  it.each<[what: string, fields: string[]]>([
    ["no path", listOf(withoutPath)],
    ["no authority", listOf(withoutAuthority)],
    ["no fields", []],
    ["a path that is none", listOf({ ...request, ":path": "a" })],
    ["*", listOf({ ...request, ":method": "OPTIONS", ":path": "*" })],
    ["a blank in the path", listOf({ ...request, ":path": "/a b" })],
    ["no ASCII in the path", listOf({ ...request, ":path": "/ü" })],
    ["another scheme", listOf({ ...request, ":scheme": "ftp" })],
    ["HEAD", listOf({ ...request, ":method": "HEAD" })],
    ["CONNECT", listOf({ ":method": "CONNECT", ":authority": "a:1" })],
    ["extended CONNECT", listOf({ ...request, ":protocol": "websocket" })],
    ["a pseudo-header field of a response", listOf({ ...request, ":status": "200" })],
    ["a pseudo-header field twice", [...listOf(request), ":path", "/b"]],
    ["a pseudo-header field after others", [...listOf({ ...request, a: "b" }), ":path", "/b"]],
    ["a field twice", [...listOf({ ...request, a: "b" }), "a", "c"]],
    ["cookies", [...listOf({ ...request, cookie: "a=b" }), "cookie", "c=d"]],
    ["a name in upper case", listOf({ ...request, "X-A": "b" })],
    ["a name with a blank", listOf({ ...request, "x a": "b" })],
    ["a name with a colon", listOf({ ...request, "x:a": "b" })],
    ["an empty name", listOf({ ...request, "": "b" })],
    ["a name every object has", listOf({ ...request, constructor: "b" })],
    ["__proto__", [...listOf(request), "__proto__", "b"]],
    ["a line break", listOf({ ...request, a: "b\r\nc: d" })],
    ["NUL", listOf({ ...request, a: "b\0" })],
    ["a blank at the end", listOf({ ...request, a: "b " })],
    ["a tab at the beginning", listOf({ ...request, a: "\tb" })],
    ["no ASCII", listOf({ ...request, a: "ü" })],
    ["Connection", listOf({ ...request, connection: "close" })],
    ["Transfer-Encoding", listOf({ ...request, "transfer-encoding": "chunked" })],
    ["Upgrade", listOf({ ...request, upgrade: "websocket" })],
    ["Host", listOf({ ...request, host: "h" })],
    ["an expectation", listOf({ ...request, expect: "100-continue" })],
    ["TE beyond trailers", listOf({ ...request, te: "gzip" })],
    ["a length that is none", listOf({ ...request, "content-length": "-1" })],
    ["two lengths in one", listOf({ ...request, "content-length": "1, 1" })],
  ])("%s", (_what, fields) => {
    expect(fieldsOf(fields)).toBeUndefined();
  });

  it("a list that is too large", () => {
    expect(fieldsOf(listOf(request), true)).toBeUndefined();
  });
});
