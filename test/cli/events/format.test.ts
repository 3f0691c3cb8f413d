import { expect, test } from "vitest";
import { formatDelivery } from "../../../src/cli/events/format.ts";
import type { Verdict } from "../../../src/cli/events/verify.ts";

const verified: Verdict = {
  status: 200,
  event: { outcome: "verified", text: "CloudEvents 1.0" },
  token: { outcome: "verified", text: "webhook:abc" },
  signature: { outcome: "unchecked", text: "--secret is not given" },
};
const headers = {
  host: "127.0.0.1",
  authorization: "Bearer eyJhbGciOi",
  "ce-type": "dev.platform.api.iam.group.created.v1",
  "ce-specversion": "1.0",
  "ce-group": "abc",
  "ce-bodytype": "platform.iam.v2.Group",
  "ce-id": "1",
};
const receiveTime = new Date("2026-11-21T10:00:00.123Z");
const format = (body: string, more: object = {}, isColoured = false) =>
  formatDelivery(
    { headers: { ...headers, ...more }, body: Buffer.from(body), receiveTime, verdict: verified },
    isColoured,
  );

test("a delivery is its type, its attributes, what was checked, and its body", () => {
  expect(format('{"body":{"uid":"abc"}}')).toBe(`10:00:00.123  dev.platform.api.iam.group.created.v1  200
  id          1
  group       abc
  bodytype    platform.iam.v2.Group
  event       verified, CloudEvents 1.0
  token       verified, webhook:abc
  signature   unchecked, --secret is not given
  | {
  |   "body": {
  |     "uid": "abc"
  |   }
  | }

`);
});

test("colours are for terminals", () => {
  const sequence = "\u001b[";
  expect(format("{}")).not.toContain(sequence);
  expect(format("{}", {}, true)).toContain(`${sequence}32mverified`);
});

test.each([
  ["a body that is not JSON", "not {json", {}, "  | not {json\n"],
  ["an empty body", "", {}, "  | \n"],
  ["escape sequences in a body", "\u001b[2J", {}, "  | \\u001b[2J\n"],
  ["escape sequences in an attribute", "{}", { "ce-subject": "\u009b2J\u202e" }, "  subject     \\u009b2J\\u202e\n"],
  ["a long line", `"${"x".repeat(500)}"`, {}, `${"x".repeat(159)}… 342 more characters\n`],
  ["many lines", JSON.stringify(Array(100).fill(1)), {}, "  |   1,\n  | … 62 more lines\n"],
  ["nothing at all", "", { "ce-type": undefined }, "10:00:00.123  (no type)  200\n"],
])("%s", (_, body, more, expected) => {
  expect(format(body, more)).toContain(expected);
});

test("the token itself is not printed", () => {
  expect(format("{}")).not.toContain("eyJ");
});
