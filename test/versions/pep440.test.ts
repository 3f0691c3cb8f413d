import * as reference from "@renovatebot/pep440";
import fc from "fast-check";
import { expect, test } from "vitest";
import { versionOrder } from "../../src/versions/order.ts";
import { pep440Order } from "../../src/versions/pep440.ts";
import { compareByKey, expectRising } from "./in-order.ts";

test("the examples of PEP 440", () => {
  expectRising("pep440", [
    "1.dev0 1.0.dev0 1.0.0-dev",
    "1.0.dev456",
    "1.0a1.dev1",
    "1.0a1 1.0.alpha1 1.0-A.1 v1.0a1",
    "1.0a2.dev456",
    "1.0a12.dev456",
    "1.0a12",
    "1.0b1.dev456",
    "1.0b2 1.0beta2",
    "1.0b2.post345.dev456",
    "1.0b2.post345",
    "1.0rc1.dev456",
    "1.0rc1 1.0c1 1.0pre1 1.0-preview-1",
    "1.0 1 1.0.0 01.00",
    "1.0+abc.5",
    "1.0+abc.7 1.0+ABC-7",
    "1.0+5",
    "1.0+5.1",
    "1.0.post456.dev34",
    "1.0.post456 1.0-456 1.0rev456 1.0-r456",
    "1.0.15",
    "1.1.dev1",
    "2013.10",
    "1!0.1",
  ]);
});

test("only pre-releases and development releases are not stable", () => {
  const stable = ["1.0", "1.0.post1", "1!2.3", "1.0+local", "1.0-1"];
  const unstable = ["1.0a1", "1.0b2.post1", "1.0rc1", "1.0.dev1", "1.0.post1.dev2", "no version"];
  for (const version of stable) expect(versionOrder("pep440", version).isStable, version).toBe(true);
  for (const version of unstable) expect(versionOrder("pep440", version).isStable, version).toBe(false);
});

const number = fc.oneof(fc.nat(12), fc.nat(2 ** 31)).map(String);
const optional = (text: fc.Arbitrary<string>) => fc.oneof({ weight: 2, arbitrary: fc.constant("") }, text);
const separator = fc.constantFrom("", ".", "-", "_");
const part = (...letters: string[]) =>
  fc.tuple(separator, fc.constantFrom(...letters), separator, optional(number)).map((parts) => parts.join(""));
/** `1e5` is a word; the reference takes it for a number. */
const localPart = fc.oneof(number, fc.stringMatching(/^[a-z]{1,3}$/));
const version = fc
  .tuple(
    fc.constantFrom("", "", "v"),
    optional(number.map((epoch) => `${epoch}!`)),
    fc.array(number, { minLength: 1, maxLength: 4 }).map((release) => release.join(".")),
    optional(part("a", "ALPHA", "b", "beta", "c", "rc", "pre", "preview")),
    optional(
      fc.oneof(
        part("post", "rev", "r"),
        number.map((n) => `-${n}`),
      ),
    ),
    optional(part("dev")),
    optional(fc.array(localPart, { minLength: 1, maxLength: 3 }).map((local) => `+${local.join(".")}`)),
  )
  .map((parts) => parts.join(""));

test("keys are in the order of an independent implementation", () => {
  fc.assert(
    fc.property(version, version, (a, b) => {
      expect(compareByKey("pep440", a, b)).toBe(Math.sign(reference.compare(a, b)));
    }),
    { numRuns: 2000 },
  );
});

test("a text is a version if an independent implementation accepts it", () => {
  const text = fc.oneof(version, fc.stringMatching(/^[0-9ab.!+_-]{0,8}$/), fc.string({ maxLength: 8 }));
  fc.assert(
    fc.property(text, (candidate) => {
      expect(pep440Order(candidate) !== undefined).toBe(reference.valid(candidate) !== null);
    }),
    { numRuns: 2000 },
  );
});
