/** Conditional reads: which `If-None-Match` has the current response. */
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { isNotModified } from "../../../src/rest/answer/conditional.ts";

const isCurrent = (tags: string | undefined, etag?: string, method = "GET") => {
  const request = { method, headers: { "if-none-match": tags } } as unknown as IncomingMessage;
  return isNotModified(request, etag === undefined ? {} : { etag });
};

test.each<[string | undefined, string | undefined, boolean]>([
  ["*", '"1"', true],
  [" * ", '"1"', true],
  ["*", undefined, true],
  ['"1"', '"1"', true],
  ['W/"1"', '"1"', true],
  ['"1"', 'W/"1"', true],
  ['"0", "1"', '"1"', true],
  ['"a,b","1"', '"a,b"', true],
  ['"*"', '"1"', false],
  ['"2"', '"1"', false],
  ["1", '"1"', false],
  ['"1"', undefined, false],
  ["", '"1"', false],
  [undefined, '"1"', false],
])("If-None-Match: %s where the tag is %s: %s", (tags, etag, expected) => {
  expect(isCurrent(tags, etag)).toBe(expected);
  expect(isCurrent(tags, etag, "HEAD")).toBe(expected);
  expect(isCurrent(tags, etag, "POST")).toBe(false);
});
