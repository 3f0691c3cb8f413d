import { join } from "node:path";
import { expect, test } from "vitest";
import { feedName, feedNames } from "../../../src/cli/import/feed-name.ts";

test.each([
  ["https://example.com:8443/v3.20/main/security.json?token=secret#part", "example.com:8443/v3.20/main/security.json"],
  ["HTTPS://user:secret@Example.com/feed", "example.com/feed"],
  ["/srv/feeds/main.json", "/srv/feeds/main.json"],
  ["/srv/feeds/../feeds/", "/srv/feeds"],
  ["main.json", join(process.cwd(), "main.json")],
  ["/srv/a,b\nc", "/srv/a_b_c"],
  [`/${"x".repeat(300)}`, "x".repeat(255)],
])("the feed at %j is called %j", (location, name) => {
  expect(feedName(undefined, location)).toBe(name);
  expect(feedName("given", location)).toBe("given");
});

test.each([[""], ["a,b"], ["a\nb"], ["x".repeat(256)]])("%j is not a name", (name) => {
  expect(() => feedName(name, "/srv")).toThrow(/^--feed must be a name of 1 to 255 characters/);
});

test("an order has each name once", () => {
  expect(feedNames("--feed-order", "b, a ,b")).toEqual(["b", "a"]);
  expect(() => feedNames("--feed-order", "a,,b")).toThrow(/^--feed-order must be a name/);
});
