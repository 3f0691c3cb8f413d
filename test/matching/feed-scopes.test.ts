import { expect, test } from "vitest";
import { FeedScopes } from "../../src/matching/feed-scopes.ts";

const scopes = new FeedScopes([
  { feed: "wolfi", pattern: "pkg:apk/wolfi/*", coverage: "COMPLETE" },
  { feed: "wolfi", pattern: "pkg:apk/wolfi/linux*", coverage: "FIXES_ONLY" },
  { feed: "wolfi", pattern: "pkg:apk/wolfi/linux-headers", coverage: "COMPLETE" },
  { feed: "secdb", pattern: "pkg:apk/alpine/*?distro=alpine-3.19", coverage: "FIXES_ONLY" },
]);

test.each([
  ["wolfi", "pkg:apk/wolfi/openssl", "", "COMPLETE"],
  ["wolfi", "pkg:apk/wolfi/linux", "", "FIXES_ONLY"],
  ["wolfi", "pkg:apk/wolfi/linux-headers", "", "COMPLETE"],
  ["wolfi", "pkg:apk/alpine/openssl", "", undefined],
  ["wolfi", "pkg:npm/lodash", "", undefined],
  ["secdb", "pkg:apk/alpine/openssl", "alpine-3.19.1", "FIXES_ONLY"],
  ["secdb", "pkg:apk/alpine/openssl", "alpine-3.18", undefined],
  ["secdb", "pkg:apk/alpine/openssl", "", undefined],
  ["osv", "pkg:apk/wolfi/openssl", "", undefined],
])("the feed %s covers %s of release %j: %s", (feed, key, distro, expected) => {
  expect(scopes.coverage(feed, key, distro)).toBe(expected);
});
