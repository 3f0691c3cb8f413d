/**
 * The memory of header lists of open streams is bounded over all connections, however few bytes were sent for it (an
 * "HPACK bomb").
 */
import { constants } from "node:http2";
import { describe, expect, it, onTestFinished } from "vitest";
import { flags, frame, numbersFrame, types } from "../../../src/http/http2/frames.ts";
import { openPort } from "../open-port.ts";
import { RawHttp2Client } from "./raw-client.ts";

const valueBytes = 3990;

function literal(text: string): number[] {
  const length = text.length < 127 ? [text.length] : [127, ((text.length - 127) & 127) | 128, (text.length - 127) >> 7];
  return [...length, ...Buffer.from(text)];
}

/** A request of 12 kB in a few bytes: the first puts a large field in the table, and all refer to it three times. */
function bomb(stream: number): Buffer {
  const request = [0x83, 0x86, 0x04, ...literal(`/${stream}`), 0x01, ...literal("here")];
  const field = stream === 1 ? [0x40, ...literal("x-large"), ...literal("v".repeat(valueBytes))] : [0xbe];
  return frame(types.headers, flags.endHeaders, stream, Buffer.from([...request, ...field, 0xbe, 0xbe]));
}

describe.each([
  { by: "our HTTP/2", fastPath: true },
  { by: "Node", fastPath: false },
])("by $by", ({ fastPath }) => {
  async function open() {
    const opened = await openPort(false, {
      limits: { maxHeaderMegabytes: 1 },
      onRequest: (request, response) => void request.on("end", () => response.end("ok")).resume(),
      http2: fastPath ? "own" : "node",
    });
    onTestFinished(() => opened.port.close({ graceMs: 0 }));
    return async () => {
      const { socket } = await opened.dial("h2");
      onTestFinished(() => void socket.destroy());
      return new RawHttp2Client(socket, []);
    };
  }

  async function sendBombs(client: RawHttp2Client, count: number) {
    for (let stream = 1; stream < count * 2; stream += 2) client.socket.write(bomb(stream));
    client.socket.write(frame(types.ping, 0, 0, Buffer.from("all read")));
    await expect.poll(() => client.of(types.ping).length).toBe(1);
    return client.of(types.reset);
  }

  it("keeps no more than it may, serves others, and is free again when the streams end", async () => {
    const dial = await open();
    const clients = await Promise.all(Array.from({ length: 10 }, dial));
    let refused = 0;
    for (const client of clients) {
      const resets = await sendBombs(client, 50);
      for (const { payload } of resets) expect(payload.readUInt32BE()).toBe(constants.NGHTTP2_REFUSED_STREAM);
      expect(client.of(types.goAway)).toEqual([]);
      refused += resets.length;
    }
    const kept = 500 - refused;
    expect(kept * 3 * valueBytes).toBeGreaterThan(2 ** 20 / 2);
    expect(kept * 3 * valueBytes).toBeLessThan(2 ** 20);

    const other = await dial();
    other.ask(1, "/");
    await expect.poll(() => other.contentOf(1)).toBe("ok");

    for (const client of clients)
      for (let stream = 1; stream < 100; stream += 2)
        client.socket.write(numbersFrame(types.reset, stream, constants.NGHTTP2_CANCEL));
    await expect
      .poll(async () => {
        const again = await dial();
        return (await sendBombs(again, 30)).length;
      })
      .toBe(0);
  });
});

it("counts header blocks of which the end has not come", async () => {
  const opened = await openPort(false, { limits: { maxHeaderMegabytes: 0.25 } });
  onTestFinished(() => opened.port.close({ graceMs: 0 }));
  const ends: Promise<number>[] = [];
  for (let i = 0; i < 10; i++) {
    const { socket } = await opened.dial("h2");
    onTestFinished(() => void socket.destroy());
    const client = new RawHttp2Client(socket, []);
    for (let part = 0; part < 3; part++)
      socket.write(frame(part === 0 ? types.headers : types.continuation, 0, 1, Buffer.alloc(16_384)));
    ends.push(client.endOf(0));
  }
  expect(await Promise.any(ends)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
});
