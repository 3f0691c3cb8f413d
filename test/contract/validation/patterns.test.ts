/** The patterns of the contract are RE2 patterns, and JavaScript matches them: both must agree on them. */
import { readdirSync, readFileSync } from "node:fs";
import { RE2JS } from "@bufbuild/re2";
import { expect, it } from "vitest";
import { expressionOf } from "../../../src/contract/validation/patterns.ts";

const files = readdirSync("proto", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".proto"));
const patterns = new Set(
  files.flatMap((name) =>
    [...readFileSync(`proto/${name}`, "utf8").matchAll(/\bpattern\s*[=:]\s*("(?:[^"\\]|\\.)*\^(?:[^"\\]|\\.)*")/g)].map(
      ([, text]) => JSON.parse(text!) as string,
    ),
  ),
);

const odd = [
  "",
  "\n",
  "\t",
  "\u000b",
  "\u00a0",
  "\u2028",
  "\ufeff",
  "\0",
  "\x7f",
  "\u0085",
  "é",
  "日",
  "😀",
  "\ud800",
  " ",
  "/",
  "#",
];
const shaped = [
  "a",
  "Repo.name-1_x",
  "a".repeat(128),
  "a".repeat(129),
  "a".repeat(255),
  "a".repeat(256),
  `sha256:${"0".repeat(64)}`,
  `sha256:${"0".repeat(63)}`,
  "0".repeat(40),
  `${"0".repeat(40)}/${"f".repeat(16)}`,
  "https://issuer.example",
  "https://issuer.example/a?b",
  "http://localhost:8080/x",
  "http://[::1]",
  "http://example.com",
  "https://a@b",
  "*.example.com",
];
const texts = shaped.flatMap((text) => [
  text,
  ...odd.flatMap((character) => [text + character, character + text, `${text}${character}${text}`]),
]);

it("are found in the contract", () => expect(patterns.size).toBeGreaterThan(8));

it.each([...patterns])("%s", (pattern) => {
  const theirs = RE2JS.compile(pattern);
  const ours = expressionOf(pattern);
  const differing = texts.filter((text) => ours.test(text) !== theirs.test(text));
  expect(differing).toEqual([]);
});
