/** JSON made of bytes is the JSON made of the messages that the bytes are read into, or is not made. */
import { describe, expect, test } from "vitest";
import { createBinaryReader, createBinaryWriter, createJsonWriter, hasCustomJson } from "../../../src/codec/index.ts";
import { createWireToJson, json } from "../../../src/codec/stored/wire-to-json.ts";
import { registry } from "../../rest/fixture.ts";
import { damaged } from "../damage.ts";
import { contractTypes, ruleTypes } from "../message-types.ts";
import { Random } from "../random.ts";
import { randomMessage } from "../random-message.ts";

const runs = 20_000;

describe.each([
  ["the rules of proto2, proto3 and editions", ruleTypes, 0.4],
  ["every message of the contract", contractTypes, 0.5],
])("%s", (_, all, leastShare) => {
  const types = all.filter((type) => !hasCustomJson(type));
  const codecs = types.map((type) => ({
    type,
    write: createBinaryWriter(type),
    read: createBinaryReader(type),
    toJson: createWireToJson<undefined>(type, {}),
    writeJson: createJsonWriter(type, { registry }),
  }));

  test("from bytes as they are written, and damaged ones", { timeout: 120_000 }, () => {
    let written = 0;
    let made = 0;
    for (let seed = 0; seed < runs; seed++) {
      const { type, write, read, toJson, writeJson } = codecs[seed % codecs.length]!;
      const random = new Random(seed);
      const message = randomMessage(type, random);
      let bytes: Uint8Array;
      try {
        bytes = write(message);
      } catch {
        continue; // not every message can be written
      }
      written++;
      for (const input of [bytes, damaged(bytes, random), damaged(bytes, random)]) {
        json.cutTo(0);
        const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
        if (!toJson(view, 0, input.length, undefined)) continue;
        if (input === bytes) made++;
        const expected = writeJson(read(input));
        expect(json.take(), `${type.typeName} of seed ${seed}: ${Buffer.from(input).toString("hex")}`).toBe(expected);
      }
    }
    expect(made / written).toBeGreaterThan(leastShare);
  });
});
