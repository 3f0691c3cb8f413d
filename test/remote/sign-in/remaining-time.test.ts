/** Times until tokens expire. */
import { expect, test } from "vitest";
import { expiryText } from "../../../src/remote/sign-in/remaining-time.ts";

const nowMs = Date.parse("2026-11-25T10:00:00Z");

test.each([
  ["2026-11-25T10:59:30Z", "2026-11-25T10:59:30.000Z, in 59 minutes"],
  ["2026-11-25T10:00:01Z", "2026-11-25T10:00:01.000Z, in 1 second"],
  ["2026-11-25T10:00:00Z", "2026-11-25T10:00:00.000Z; it is accepted for a minute more at most"],
  ["2026-11-25T09:59:30Z", "2026-11-25T09:59:30.000Z; it is accepted for a minute more at most"],
])("%s", (time, text) => {
  expect(expiryText(Date.parse(time), nowMs)).toBe(text);
});
