/** An HTTP/2 client that sends the frames it is given. */
import type { Socket } from "node:net";
import { expect } from "vitest";
import {
  emptyBuffer,
  flags,
  frame,
  headBytes,
  listFrames,
  preface,
  settingsFrame,
  types,
} from "../../../src/http/http2/frames.ts";

/** A frame of the server's. */
export interface Frame {
  readonly type: number;
  readonly flag: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** One connection. */
export class RawHttp2Client {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  #unread = emptyBuffer;

  /** @param values the settings it begins with, by identifier. */
  constructor(socket: Socket, values: readonly (readonly [number, number])[]) {
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, chunk]);
      for (let end = 0; this.#unread.length >= headBytes; this.#unread = this.#unread.subarray(end)) {
        end = headBytes + this.#unread.readUIntBE(0, 3);
        if (end > this.#unread.length) break;
        const [type, flag] = [this.#unread[3]!, this.#unread[4]!];
        const stream = this.#unread.readUInt32BE(5);
        this.onFrame({ type, flag, stream, payload: this.#unread.subarray(headBytes, end) });
      }
    });
    socket.write(preface);
    socket.write(settingsFrame(new Map(values)));
  }

  protected onFrame(frame: Frame): void {
    this.frames.push(frame);
  }

  ask(stream: number, path: string, more: { flag?: number; fields?: readonly string[] } = {}): void {
    this.socket.write(listFrames(stream, requestOf(path, more.fields), more.flag ?? flags.endStream));
  }

  of(type: number, stream?: number): Frame[] {
    return this.frames.filter((frame) => frame.type === type && (stream ?? frame.stream) === frame.stream);
  }

  contentOf(stream: number): string {
    return Buffer.concat(this.of(types.data, stream).map(({ payload }) => payload)).toString("latin1");
  }

  isAnswered(stream: number): boolean {
    return this.frames.some(
      (frame) => frame.stream === stream && frame.type <= types.headers && (frame.flag & flags.endStream) !== 0,
    );
  }

  async answerOf(stream: number) {
    await expect.poll(() => this.isAnswered(stream)).toBe(true);
    return JSON.parse(this.contentOf(stream));
  }

  /** The code of a RST_STREAM or GOAWAY. */
  async endOf(stream: number): Promise<number> {
    const end = () =>
      this.of(stream === 0 ? types.goAway : types.reset, stream)[0]?.payload.readUInt32BE(stream === 0 ? 4 : 0);
    await expect.poll(end).toBeDefined();
    return end()!;
  }
}

/** The header list of a request. */
export function requestOf(path: string, fields: readonly string[] = [], method = "POST"): string[] {
  return [":method", method, ":scheme", "http", ":path", path, ":authority", "here", ...fields];
}

/** A DATA frame with padding, RFC 9113 section 6.1. */
export function padded(stream: number, content: Buffer, paddingBytes: number, flag: number): Buffer {
  const payload = Buffer.concat([Buffer.of(paddingBytes), content, Buffer.alloc(paddingBytes)]);
  return frame(types.data, flag | flags.padded, stream, payload);
}
