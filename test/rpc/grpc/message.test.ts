import { expect, it } from "vitest";
import { encodeGrpcMessage } from "../../../src/rpc/grpc/message.ts";

it.each([
  ['Not found: Repo "a/b" does not exist', 'Not found: Repo "a/b" does not exist'],
  ["100% of ü\n", "100%25 of %C3%BC%0A"],
  ["~ !", "~ !"],
  ["😀", "%F0%9F%98%80"],
])("%j is spelled %s", (message, expected) => {
  const headers = new Headers({ "grpc-message": encodeURIComponent(message) });
  encodeGrpcMessage(headers);
  expect(headers.get("grpc-message")).toBe(expected);
  expect(decodeURIComponent(expected)).toBe(message);
});
