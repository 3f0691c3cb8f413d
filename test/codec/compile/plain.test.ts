/** Codecs without generated code against generated ones: the same messages, bytes, texts, violations and errors. */
import { isDeepStrictEqual } from "node:util";
import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { ruledLimits } from "../../../src/contract/index.ts";
import { importAnew } from "../../import-anew.ts";
import { desc, registry } from "../../rest/fixture.ts";
import { damaged } from "../damage.ts";
import { contractTypes, ruleTypes } from "../message-types.ts";
import { Random } from "../random.ts";
import { randomMessage } from "../random-message.ts";

type Codec = typeof import("../../../src/codec/index.ts");

const codecModule = import.meta.resolve("../../../src/codec/index.ts");

const runs = 6000;
const maxFields = 20;

let generated: Codec;
let plain: Codec;
/** Whether code was generated since it was last set to false. */
let hasGenerated = false;

beforeAll(async () => {
  const { Function: native } = globalThis;
  vi.stubGlobal("Function", function observed(...parameters: string[]) {
    hasGenerated = true;
    return native(...parameters);
  });
  generated = await import("../../../src/codec/index.ts");
  plain = await importAnew(codecModule);
  plain.useGeneratedCode(false);
  const limits = generated.limitSource();
  for (const codec of [generated, plain]) codec.useFieldLimits(ruledLimits);
  return () => {
    generated.useFieldLimits(limits);
    vi.unstubAllGlobals();
  };
});

function codecsOf(codec: Codec, type: DescMessage) {
  const read = codec.createJsonReader(type, { registry });
  const readLeniently = codec.createJsonReader(type, { registry, ignoreUnknownFields: true });
  return {
    write: codec.createBinaryWriter(type),
    read: codec.createBinaryReader(type),
    readFew: codec.createBinaryReader(type, maxFields),
    writeJson: codec.createJsonWriter(type, { registry }),
    writeFields: type.fields.map((field) => codec.createJsonFieldWriter(field, { registry })),
    readJson(text: string | Uint8Array, ignoreUnknown: boolean) {
      const violations = new codec.Violations();
      const message = (ignoreUnknown ? readLeniently : read)(codec.parseJson(text), violations);
      return { message, violations: violations.list };
    },
  };
}

/** What a function returns, or the error that it throws. */
function outcomeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return { error: `${error}` };
  }
}

function same<C>(codecs: readonly [C, C], work: (codec: C) => unknown, what: () => string): unknown {
  const [expected, actual] = codecs.map((codec) => outcomeOf(() => work(codec)));
  if (!isDeepStrictEqual(actual, expected)) expect(actual, what()).toEqual(expected);
  return expected;
}

describe.each([
  ["the rules of proto2, proto3 and editions", ruleTypes],
  ["every message of the contract", contractTypes],
])("%s", (_, types) => {
  test("random messages, their damaged bytes and their damaged text", { timeout: 120_000 }, () => {
    const pairs = types.map((type) => [codecsOf(generated, type), codecsOf(plain, type)] as const);
    for (let seed = 0; seed < runs; seed++) {
      const i = seed % types.length;
      const [type, codecs] = [types[i]!, pairs[i]!];
      const random = new Random(seed);
      const message = randomMessage(type, random);
      const what = (done: string) => () => `${done} ${type.typeName} of seed ${seed}`;

      const text = same(codecs, ({ writeJson }) => writeJson(message), what("text of"));
      same(codecs, ({ writeFields }) => writeFields.map((write) => outcomeOf(() => write(message))), what("fields of"));
      if (typeof text === "string") {
        const ignoreUnknown = random.oneIn(2);
        for (const input of [Buffer.from(text), damaged(Buffer.from(text), random), Buffer.from(changed(text, random))])
          same(codecs, ({ readJson }) => readJson(input, ignoreUnknown), what(`reading ${input} as`));
      }

      // A message that cannot be written is a bug of ours; its error comes from the library or from us.
      const refusalOr = (write: () => Uint8Array) => {
        const outcome = outcomeOf(() => Uint8Array.from(write()));
        return outcome instanceof Uint8Array ? outcome : undefined;
      };
      const bytes = same(codecs, ({ write }) => refusalOr(() => write(message)), what("bytes of"));
      if (!(bytes instanceof Uint8Array)) continue;
      const headroom = random.below(8);
      same(codecs, ({ write }) => Uint8Array.from(write(message, headroom).subarray(headroom)), what("frame of"));
      for (const input of [bytes, damaged(bytes, random), damaged(bytes, random)]) {
        same(codecs, ({ read }) => read(input), what(`reading ${Buffer.from(input).toString("hex")} as`));
        same(
          codecs,
          ({ readFew }) => readFew(input),
          what(`reading little of ${Buffer.from(input).toString("hex")} as`),
        );
      }
    }
  });
});

/** The text with one string, number or word replaced. */
function changed(text: string, random: Random): string {
  const scalars = [...text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*|true|false|null/g)];
  if (scalars.length === 0) return text;
  const { index, 0: scalar } = random.pick(scalars);
  const others = ["null", "1", '"x"', "[]", "{}", "true", "-1.5e400", '"2024-02-30T00:00:00Z"', '"\\ud800"'];
  return text.slice(0, index) + random.pick(others) + text.slice(index + scalar.length);
}

describe("stored messages", () => {
  const repo = desc("Repo");
  const list = desc("ListReposResponse");
  const sources = Array.from({ length: 500 }, (_, seed) => {
    const { $unknown, name, ...others } = randomMessage(repo, new Random(seed), 2) as Message & { name: string };
    const body = toBinary(repo, { ...others, name: "" } as Message);
    return { name: name.toWellFormed(), body };
  });
  type Source = (typeof sources)[number];

  function storedCodecs(codec: Codec) {
    const read = codec.createBinaryReader(repo);
    const type = {
      bytes: ({ body }: Source) => ({ view: new DataView(body.buffer), start: 0, end: body.length }),
      supplied: { name: { text: ({ name }: Source) => name } },
      message: ({ body, name }: Source) => Object.assign(read(body), { name }),
    };
    const one = codec.storedMessageMaker(repo, type);
    const many = codec.storedListMaker(list, type);
    const writeOne = codec.createJsonWriter(repo, { registry });
    const writeMany = codec.createJsonWriter(list, { registry });
    const encodeOne = codec.createBinaryWriter(repo);
    const encodeMany = codec.createBinaryWriter(list);
    return {
      textOf: (source: Source) => writeOne(one(source)),
      textOfAll: (all: readonly Source[]) => writeMany(many(all)),
      bytesOf: (source: Source) => fromBinary(repo, encodeOne(one(source))),
      bytesOfAll: (all: readonly Source[]) => fromBinary(list, encodeMany(many(all))),
      fieldsOf: (all: readonly Source[]) => ({ ...(many(all) as unknown as { repos: unknown }).repos! }),
    };
  }

  test("their text and their bytes", () => {
    const codecs = [storedCodecs(generated), storedCodecs(plain)] as const;
    for (const [i, source] of sources.entries()) {
      same(
        codecs,
        ({ textOf }) => textOf(source),
        () => `text of ${i}`,
      );
      same(
        codecs,
        ({ bytesOf }) => bytesOf(source),
        () => `bytes of ${i}`,
      );
      const some = sources.slice(i, i + (i % 7));
      same(
        codecs,
        ({ textOfAll }) => textOfAll(some),
        () => `text of some from ${i}`,
      );
      same(
        codecs,
        ({ bytesOfAll }) => bytesOfAll(some),
        () => `bytes of some from ${i}`,
      );
      same(
        codecs,
        ({ fieldsOf }) => fieldsOf(some),
        () => `fields of some from ${i}`,
      );
    }
  });
});

test.each([true, false])("generated code switched on: %s", async (on) => {
  const codec = await importAnew<Codec>(codecModule);
  codec.useGeneratedCode(on);
  hasGenerated = false;
  const type = contractTypes[0]!;
  const { write, read } = codecsOf(codec, type);
  read(write(randomMessage(type, new Random(1))));
  expect(hasGenerated).toBe(on);
});
