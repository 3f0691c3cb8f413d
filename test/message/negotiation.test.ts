import { expect, test } from "vitest";
import { chooseCoding, chooseMediaType, isJsonContentType, parseCoding } from "../../src/message/negotiation.ts";
import { streamTypes } from "../../src/rest/answer/stream.ts";

test.each<[string | undefined, string | undefined]>([
  [undefined, "application/json"],
  ["", "application/json"],
  ["*/*", "application/json"],
  ["application/json", "application/json"],
  ["Application/JSON; charset=utf-8", "application/json"],
  ["application/*", "application/json"],
  ["text/html, */*;q=0.1", "application/json"],
  ["application/x-ndjson", "application/x-ndjson"],
  ["application/x-ndjson, */*", "application/x-ndjson"],
  ["application/json, application/x-ndjson", "application/json"],
  ["application/json;q=0.5, application/x-ndjson", "application/x-ndjson"],
  ["text/event-stream, application/json;q=0.9", "text/event-stream"],
  ["text/*", "text/event-stream"],
  ["application/json;q=0, */*", "application/x-ndjson"],
  ["text/html", undefined],
  ["*/*;q=0", undefined],
  ["application/json;q=0, application/*;q=0", undefined],
  ["application/json;q=nonsense", undefined],
])("Accept %j of a stream gives %s", (accept, type) => {
  expect(chooseMediaType(accept, streamTypes)).toBe(type);
});

test.each<[string | undefined, string | undefined, string | undefined]>([
  // Accept-Encoding, a large body, a small one
  [undefined, undefined, undefined],
  ["", undefined, undefined],
  ["gzip", "gzip", undefined],
  ["x-gzip", "gzip", undefined],
  ["br", "br", undefined],
  ["gzip, deflate, br", "br", undefined],
  ["gzip;q=1.0, br;q=0.5", "gzip", undefined],
  ["gzip;q=0", undefined, undefined],
  ["*", "br", undefined],
  ["*, br;q=0", "gzip", undefined],
  ["deflate, zstd", undefined, undefined],
  ["identity, gzip;q=0.5", undefined, undefined],
  ["identity;q=0.5, gzip", "gzip", undefined],
  ["identity;q=0, gzip", "gzip", "gzip"],
  ["*;q=0", undefined, undefined],
  ["*;q=0, gzip", "gzip", "gzip"],
])("Accept-Encoding %j gives %s, for a small body %s", (header, large, small) => {
  expect(chooseCoding(header, false)).toBe(large);
  expect(chooseCoding(header, true)).toBe(small);
});

test.each<[string | undefined, string | undefined | null]>([
  [undefined, undefined],
  ["", undefined],
  ["identity", undefined],
  ["gzip", "gzip"],
  ["GZIP", "gzip"],
  ["x-gzip", "gzip"],
  ["br", "br"],
  ["deflate", null],
  ["gzip, br", null],
])("Content-Encoding %j is %s", (header, coding) => {
  expect(parseCoding(header)).toBe(coding);
});

test.each([
  undefined,
  "",
  "application/json",
  "Application/Json",
  "application/json;charset=utf-8",
  "application/json; charset=UTF-8",
  'application/json; charset="utf-8"',
  "application/json; charset=utf8; profile=x",
  "application/x-www-form-urlencoded",
])("%j is read as JSON", (contentType) => {
  expect(isJsonContentType(contentType)).toBe(true);
});

test.each([
  "text/plain",
  "application/json; charset=latin1",
  "application/xml",
  "multipart/form-data",
  "application/merge-patch+json",
  "json",
])("%j is not", (contentType) => {
  expect(isJsonContentType(contentType)).toBe(false);
});
