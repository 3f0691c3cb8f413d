/** Each variant of ProtoJSON against the protobuf library, with generated code and without. */
import { type JsonWriteOptions, toJsonString } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { createJsonWriter, type JsonFormat, useGeneratedCode } from "../../../src/codec/index.ts";
import { create, desc, registry } from "../../rest/fixture.ts";
import { Random } from "../random.ts";
import { randomMessage } from "../random-message.ts";
import { wireType } from "../wire-fixture.ts";

const formats: readonly JsonFormat[] = [
  {},
  { alwaysEmitImplicit: true },
  { useProtoFieldName: true },
  { enumAsInteger: true },
  { alwaysEmitImplicit: true, useProtoFieldName: true, enumAsInteger: true },
];

afterEach(() => useGeneratedCode(true));

describe.each([true, false])("with generated code: %s", (generated) => {
  test.each(formats)("%j", (format) => {
    useGeneratedCode(generated);
    // A registry of its own, so that its writers are compiled now.
    const fresh = { ...registry };
    let written = 0;
    for (const type of [
      desc("Everything"),
      desc("Repo"),
      wireType("wire2.Everything"),
      wireType("wire2023.Everything"),
    ]) {
      for (let seed = 0; seed < 300; seed++) {
        const message = randomMessage(type, new Random(seed), 2);
        const write = () => JSON.parse(createJsonWriter(type, { registry: fresh, format })(message));
        let expected: unknown;
        try {
          expected = JSON.parse(toJsonString(type, message, { ...(format as Partial<JsonWriteOptions>), registry }));
        } catch {
          expect(write, `${type.typeName}, seed ${seed}`).toThrow();
          continue;
        }
        expect(write(), `${type.typeName}, seed ${seed}`).toEqual(expected);
        written++;
      }
    }
    expect(written).toBeGreaterThan(400);
  });
});

test.each([
  [0, "2024-01-31T12:34:56Z"],
  [500_000_000, "2024-01-31T12:34:56.500Z"],
  [120_000, "2024-01-31T12:34:56.000120Z"],
  [1, "2024-01-31T12:34:56.000000001Z"],
])("a timestamp with %d nanoseconds is exact", (nanos, text) => {
  const message = create("Repo", { createTime: { seconds: 1_706_704_496n, nanos } });
  const write = (format: JsonFormat) => JSON.parse(createJsonWriter(desc("Repo"), { registry, format })(message));
  expect(write({}).createTime).toBe(text);
  expect(write({ timestampPrecision: "milliseconds" }).createTime).toBe(new Date(`${text}`).toISOString());
});
