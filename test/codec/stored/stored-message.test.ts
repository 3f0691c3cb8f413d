/** Stored messages and lists of them: written like decoded ones. A list is read like any other, a message is opaque. */
import {
  clone,
  create,
  type DescMessage,
  equals,
  fromBinary,
  isMessage,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  createBinaryWriter,
  createJsonFieldWriter,
  createJsonWriter,
  type Local,
  storedListMaker,
  storedMessageMaker,
  wholeMessage,
} from "../../../src/codec/index.ts";
import { desc, registry } from "../../rest/fixture.ts";

const repo = desc("Repo");
const list = desc("ListReposResponse");

/** A stored repo: its name and its create time are supplied. */
interface Source {
  readonly name: string;
  readonly timeUs: number;
  readonly body: Uint8Array;
}

const sourceOf = (name: string, timeUs: number, fields: Local = {}): Source => ({
  name,
  timeUs,
  body: createBinaryWriter(repo)(create(repo, fields)),
});

const messageOf = ({ name, timeUs, body }: Source): Message => {
  const message = fromBinary(repo, body);
  const seconds = Math.floor(timeUs / 1e6);
  const createTime = {
    $typeName: "google.protobuf.Timestamp",
    seconds: BigInt(seconds),
    nanos: (timeUs - seconds * 1e6) * 1000,
  };
  return Object.assign(message, { name, createTime });
};

function bytesOf({ body }: Source) {
  const { buffer, byteOffset, byteLength } = body as Uint8Array<ArrayBuffer>;
  return { view: new DataView(buffer, byteOffset, byteLength), start: 0, end: byteLength };
}

const make = storedListMaker<Source>(list, {
  bytes: bytesOf,
  supplied: { name: { text: ({ name }) => name }, createTime: { timeUs: ({ timeUs }) => timeUs } },
  message: messageOf,
});
const writeJson = createJsonWriter(list, { registry });
const writeBinary = createBinaryWriter(list);

const sources = [
  sourceOf("plain", 1_700_000_000_123_456, {
    description: "one",
    tags: ["a", "b"],
    total: 7n,
    kind: 1,
    deprecated: true,
  }),
  sourceOf("", 0),
  sourceOf('quote " backslash \\ line\n', 1_700_000_000_000_000, {
    description: 'é "日本" \\ \u0001 😀',
    tags: ["", "ü"],
  }),
  sourceOf("é 日本 😀", 4_102_444_800_999_999, { description: "x".repeat(20_000) }),
  sourceOf("left to the reader", 1, { labels: { a: "b" }, total: -1n, kind: 1000 }),
  sourceOf("before 1970", -1, { total: 2n ** 62n }),
];

/** The same list, of messages. */
function asMessages(of: readonly Source[]): Message {
  return Object.assign(create(list) as Message, { repos: of.map(messageOf), skipped: 3 });
}

function encoded(of: readonly Source[]): Message {
  return Object.assign(make(of), { skipped: 3 });
}

test.each<[string, readonly Source[]]>([
  ["no message", []],
  ["one", sources.slice(0, 1)],
  ["all", sources],
  ["many", Array.from({ length: 2000 }, (_, i) => sources[i % sources.length]!)],
])("JSON and bytes of %s", (_, of) => {
  expect(writeJson(encoded(of))).toBe(writeJson(asMessages(of)));
  expect(equals(list, fromBinary(list, writeBinary(encoded(of))), asMessages(of) as never)).toBe(true);
});

test("headroom before the bytes", () => {
  const bytes = writeBinary(encoded(sources), 5);
  expect(equals(list, fromBinary(list, bytes.subarray(5)), asMessages(sources) as never)).toBe(true);
});

test("to the library it is a message like any other", () => {
  const message = encoded(sources) as Message & { repos: readonly Message[] };
  expect(isMessage(message, list)).toBe(true);
  expect(message.repos).toHaveLength(sources.length);
  expect(message.repos).toBe(message.repos);
  expect(equals(list, message as never, asMessages(sources) as never)).toBe(true);
  expect(equals(list, clone(list, message as never), asMessages(sources) as never)).toBe(true);
  expect(toBinary(list, message as never)).toEqual(toBinary(list, asMessages(sources) as never));
  expect(toJson(list, message as never, { registry })).toEqual(
    toJson(list, asMessages(sources) as never, { registry }),
  );
});

test("a field left to the reader that JSON cannot express stops one list, and no other", () => {
  const type: DescMessage = desc("ListReposResponse");
  const failing = storedListMaker<Source>(type, {
    bytes: bytesOf,
    supplied: {},
    message() {
      throw new TypeError("no message");
    },
  });
  expect(() => writeJson(failing([sources[0]!, sources[4]!]))).toThrow("no message");
  expect(writeJson(encoded(sources))).toBe(writeJson(asMessages(sources)));
});

test("a message without a list of messages is refused", () => {
  const type = { bytes: () => bytesOf(sources[1]!), supplied: {}, message: () => create(repo) as Message };
  expect(() => storedListMaker(repo, type)).toThrow("Repo has no one list of messages");
});

const makeOne = storedMessageMaker<Source>(repo, {
  bytes: bytesOf,
  supplied: { name: { text: ({ name }) => name }, createTime: { timeUs: ({ timeUs }) => timeUs } },
  message: messageOf,
});

test.each(sources.map((source) => [source.name, source] as const))("a message by itself: %j", (_, source) => {
  const message = messageOf(source);
  const one = makeOne(source);
  expect(isMessage(one, repo)).toBe(false);
  expect(equals(repo, wholeMessage(one) as never, message as never)).toBe(true);
  expect(createJsonWriter(repo, { registry })(one)).toBe(createJsonWriter(repo, { registry })(message));
  for (const headroom of [0, 5]) {
    const bytes = createBinaryWriter(repo)(one, headroom).subarray(headroom);
    expect(equals(repo, fromBinary(repo, bytes), message as never)).toBe(true);
  }
  const description = repo.field.description!;
  const write = createJsonFieldWriter(description, { registry });
  expect(write(one)).toBe(write(message));
});

test("a whole message stays what it is", () => {
  const message = messageOf(sources[0]!);
  expect(wholeMessage(message)).toBe(message);
});

test("a stored message has nothing to read", () => {
  const one = makeOne(sources[0]!);
  expect(Reflect.ownKeys(one)).toEqual([]);
  // @ts-expect-error: an interceptor that reads a field must ask for the whole message.
  expect(one.$typeName).toBeUndefined();
  expect(wholeMessage(one).$typeName).toBe(repo.typeName);
});
