import { once } from "node:events";
import { type ClientHttp2Session, connect, sensitiveHeaders } from "node:http2";
import { duplexPair } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FrameHandler, FrameReader } from "../../../../src/http/http2/frame-reader.ts";
import { settings, settingsFrame } from "../../../../src/http/http2/frames.ts";
import { HeaderReader, HpackError, maxFieldBytes, writeField } from "../../../../src/http/http2/hpack/hpack.ts";

const unlimited = 2 ** 30;

function readAll(blocks: readonly string[], maxListBytes = unlimited) {
  const reader = new HeaderReader(maxListBytes);
  return blocks.map((hex) => reader.read(Buffer.from(hex.replaceAll(" ", ""), "hex")).fields.join("|"));
}

describe("header blocks of RFC 7541, appendix C", () => {
  const requests = [
    ":method|GET|:scheme|http|:path|/|:authority|www.example.com",
    ":method|GET|:scheme|http|:path|/|:authority|www.example.com|cache-control|no-cache",
    ":method|GET|:scheme|https|:path|/index.html|:authority|www.example.com|custom-key|custom-value",
  ];
  it.each([
    [
      "C.3, without Huffman coding",
      [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
      ],
    ],
    [
      "C.4, with it",
      [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
      ],
    ],
  ])("%s", (_what, blocks) => {
    expect(readAll(blocks)).toEqual(requests);
  });

  it.each([
    ["C.2.1", "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "custom-key|custom-header"],
    ["C.2.2", "040c 2f73 616d 706c 652f 7061 7468", ":path|/sample/path"],
    ["C.2.3, never indexed", "1008 7061 7373 776f 7264 0673 6563 7265 74", "password|secret"],
    ["C.2.4", "82", ":method|GET"],
  ])("%s", (_what, block, list) => {
    expect(readAll([block])).toEqual([list]);
  });
});

describe("what is not HPACK", () => {
  it.each<[what: string, blocks: string[]]>([
    ["index 0", ["80"]],
    ["an index beyond both tables", ["be"]],
    ["an index of what was evicted", ["4001 6101 62", "20", "be"]],
    ["an index cut off", ["ff"]],
    ["an index without end", ["ff ffff ffff ffff 7f"]],
    ["a field without its name", ["40"]],
    ["a field without its value", ["4001 61"]],
    ["a string cut off", ["4005 6162"]],
    ["a length cut off", ["407f"]],
    ["a table larger than was offered", ["3f e21f"]],
    ["a table size after a field", ["82 20"]],
    ["EOS within a string", ["4001 6184 ffff ffff"]],
    ["padding of eight bits", ["4001 6182 1fff"]],
    ["padding that is not of ones", ["4001 6181 18"]],
  ])("%s", (_what, blocks) => {
    expect(() => readAll(blocks)).toThrow(HpackError);
  });
});

it("evicts the oldest entries from a table that is full, and keeps none too large for it", () => {
  const reader = new HeaderReader(unlimited);
  const indexed = (name: string, valueBytes: number) => {
    const value = Buffer.alloc(valueBytes, "v");
    return Buffer.concat([Buffer.of(0x40, name.length), Buffer.from(name), integer(valueBytes), value]);
  };
  const integer = (value: number) => Buffer.of(0x7f, ((value - 127) & 127) | 128, (value - 127) >> 7);
  reader.read(indexed("a", 2000));
  reader.read(indexed("b", 2000));
  expect(reader.read(Buffer.of(0xbe, 0xbf)).fields.filter((_, i) => i % 2 === 0)).toEqual(["b", "a"]);
  reader.read(indexed("c", 2000)); // 3 × 2033 bytes are more than 4096
  expect(reader.read(Buffer.of(0xbe, 0xbf)).fields.filter((_, i) => i % 2 === 0)).toEqual(["c", "b"]);
  expect(() => reader.read(Buffer.of(0xc0))).toThrow(HpackError);
  const hasTooLarge = reader.read(indexed("d", 5000));
  expect(hasTooLarge.fields[0]).toBe("d");
  expect(() => reader.read(Buffer.of(0xbe))).toThrow(HpackError);
});

it("reads a list that is too large no further than that, and what comes after it all the same", () => {
  const reader = new HeaderReader(100);
  const { fields, isTooLarge } = reader.read(
    Buffer.concat([
      ...[1, 2, 3, 4].map((i) => Buffer.of(0x00, 1, 96 + i, 10, ...Buffer.alloc(10, "v"))),
      Buffer.of(0x40, 1, 120, 1, 121),
    ]),
  );
  expect({ names: fields.filter((_, i) => i % 2 === 0), isTooLarge }).toEqual({
    names: ["a", "b", "c"],
    isTooLarge: true,
  });
  expect(reader.read(Buffer.of(0xbe))).toEqual({ fields: ["x", "y"], isTooLarge: false, listBytes: 34, blockBytes: 1 });
});

it("remembers the last list for as long as it means the same", () => {
  const reader = new HeaderReader(unlimited);
  const read = (...bytes: number[]) => reader.read(Buffer.from(bytes));
  read(0x40, 1, 97, 1, 98);
  const first = read(0xbe);
  expect(read(0xbe)).toBe(first);
  read(0x40, 1, 99, 1, 100);
  expect(read(0xbe).fields).toEqual(["c", "d"]);
});

const name = fc.stringMatching(/^x[a-z\d-]{0,20}$/);
const value = fc.oneof(fc.stringMatching(/^[!-~]([ -~]{0,300}[!-~])?$/), fc.constantFrom("", "a", "application/grpc"));

it("reads what it writes", () => {
  const reader = new HeaderReader(unlimited);
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (fields) => {
      const block = Buffer.alloc(fields.reduce((sum, [name, value]) => sum + maxFieldBytes(name, value), 0));
      let end = 0;
      for (const [name, value] of fields) end = writeField(block, end, name, value);
      expect(reader.read(block.subarray(0, end)).fields).toEqual(fields.flat());
    }),
  );
});

it("reads what Node's client writes, tables and Huffman coding and all", async () => {
  const [ours, theirs] = duplexPair();
  const lists: (readonly string[])[] = [];
  const handler: FrameHandler = {
    onHeaders: (_stream, { fields }) => void lists.push(fields),
    isFull: false,
    ...{
      onData() {},
      onReset() {},
      onWindowUpdate() {},
      onSettings() {},
      onPing() {},
      onPong() {},
      onControlFrame() {},
      onStreamError() {},
    },
  };
  const reader = new FrameReader(handler, unlimited);
  const client: ClientHttp2Session = connect("http://test", { createConnection: () => theirs }).on("error", () => {});
  ours.on("data", (chunk) => reader.read(chunk));
  ours.write(settingsFrame(new Map([[settings.maxConcurrentStreams, 1000]])));
  await once(client, "remoteSettings");

  const field = fc.tuple(name, value, fc.boolean());
  const requests = fc.sample(fc.uniqueArray(field, { selector: ([name]) => name, maxLength: 20 }), 300);
  const sent = requests.map((fields) => {
    const secret = fields.filter(([, , isSecret]) => isSecret).map(([name]) => name);
    const own = Object.fromEntries(fields.map(([name, value]) => [name, value]));
    const pseudo = { ":method": "POST", ":scheme": "http", ":path": "/p", ":authority": "test" };
    client.request({ ...pseudo, ...own, [sensitiveHeaders]: secret }).on("error", () => {});
    return [...Object.entries(pseudo), ...Object.entries(own)].flat().sort();
  });
  await expect.poll(() => lists.length).toBe(sent.length);
  expect(lists.map((list) => [...list].sort())).toEqual(sent);
  client.destroy();
});
