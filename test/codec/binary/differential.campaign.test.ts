/** Our binary writer and reader against the library's, on random messages and on their damaged bytes. */
import { isDeepStrictEqual } from "node:util";
import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { createBinaryReader, createBinaryWriter } from "../../../src/codec/index.ts";
import { campaign } from "../../campaign.ts";
import { damaged } from "../damage.ts";
import { contractTypes, ruleTypes } from "../message-types.ts";
import { Random } from "../random.ts";
import { randomMessage } from "../random-message.ts";

/** Messages of each kind. */
const runs = campaign({ short: 5_000, full: 50_000 });

test.each([
  ["the rules of proto2, proto3 and editions", ruleTypes],
  ["every message of the contract", contractTypes],
])("%s", { timeout: 120_000 }, (_, types) => {
  expect(types.length).toBeGreaterThan(10);
  const codecs = types.map((type) => ({ type, write: createBinaryWriter(type), read: createBinaryReader(type) }));
  for (let seed = 0; seed < runs; seed++) {
    const { type, write, read } = codecs[seed % codecs.length] as (typeof codecs)[number];
    const random = new Random(seed);
    const message = randomMessage(type, random);
    const expected = outcomeOf(() => toBinary(type, message));
    const bytes = outcomeOf(() => Uint8Array.from(write(message)));
    expectSame(bytes, expected, () => `writing ${type.typeName} of seed ${seed}`);
    if (expected === refused) continue;
    for (const input of [expected, damaged(expected, random), damaged(expected, random)]) {
      const theirs = outcomeOf(() => fromBinary(type, input));
      const what = () => `reading ${type.typeName} of seed ${seed}: ${Buffer.from(input).toString("hex")}`;
      expectSame(
        outcomeOf(() => read(input)),
        theirs,
        what,
      );
    }
  }
});

const refused = "refused";

function outcomeOf<T>(work: () => T): T | typeof refused {
  try {
    return work();
  } catch {
    return refused;
  }
}

function expectSame(ours: unknown, theirs: unknown, what: () => string): void {
  if (!isDeepStrictEqual(ours, theirs)) {
    forgetClosedEnums(ours);
    forgetClosedEnums(theirs);
    expect(isDeepStrictEqual(ours, theirs), what()).toBe(true);
  }
}

const closedEnums = new Set(
  ruleTypes
    .flatMap((type) => type.fields)
    .filter((field) => field.fieldKind === "enum" && !field.enum.open)
    .map((field) => `${field.parent.typeName} ${field.number}`),
);

/**
 * The library writes the unknown values of closed enums anew, and loses them beside unknown fields; we keep the bytes.
 */
function forgetClosedEnums(value: unknown): void {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  const message = value as Message;
  if (message.$unknown !== undefined) {
    message.$unknown = message.$unknown.filter(({ no }) => !closedEnums.has(`${message.$typeName} ${no}`));
    if (message.$unknown.length === 0) delete message.$unknown;
  }
  Object.values(value).forEach(forgetClosedEnums);
}
