import { expect, test } from "vitest";
import { JsonBytes } from "../../../src/codec/stored/json-buffer.ts";

const json = new JsonBytes();

test("whole numbers of every length", () => {
  const powers = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);
  const numbers = powers.flatMap((power) => [power - 1, power, power + 1, Math.floor(power * 4.2)]);
  for (const number of [...numbers, Number.MAX_SAFE_INTEGER]) {
    json.integer(number);
    expect(json.take()).toBe(String(number));
  }
});

test("timestamps, of the same second and of others, in one text and in several", () => {
  const times = [0, 999_999, 1_000_000, 1_764_201_599_123_456, 1_764_201_599_999_999, 1_764_201_600_000_000, 1_000_001];
  for (const first of times)
    for (const second of times) {
      json.time(first);
      json.text(" ");
      json.time(second);
      json.text(" ");
      json.time(second);
      const texts = [first, second, second].map((us) => new Date(Math.floor(us / 1000)).toISOString());
      expect(json.take()).toBe(texts.join(" "));
    }
});

test("a timestamp that was cut off is written again", () => {
  json.time(0);
  json.cutTo(0);
  json.text("something that is longer ");
  json.time(1000);
  expect(json.take()).toBe("something that is longer 1970-01-01T00:00:00.001Z");
});
