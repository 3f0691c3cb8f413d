/**
 * The load generator, a process of its own: closed loops over raw sockets, which cost far less CPU than the server. It
 * implements just enough of HTTP/1.1 and HTTP/2 to repeat one prepared request. A response counts when its last byte
 * has arrived.
 */
import { connect, type Socket } from "node:net";

/** One request, repeated. */
export interface Request {
  readonly protocol: "http1" | "h2";
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** In base64. {@link unique} in it is replaced by a different number in each request. */
  readonly body: string;
}

/** One measurement. */
export interface Job extends Request {
  /** Concurrent requests. */
  readonly concurrency: number;
  /** Duration of requests that do not count. */
  readonly warmUpMs: number;
  /** Whether to end the warm-up early once the rate is steady. */
  readonly untilSteady?: boolean;
  readonly durationMs: number;
  /** Whether to leave the core idle while waiting, for servers that use several cores. */
  readonly yieldsCore?: boolean;
}

/** The result of a measurement. */
export interface Measured {
  readonly perSecond: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  /** All answers, with those of the warm-up. */
  readonly answers: number;
}

/** Placeholder in a body for a unique number of the same length. */
export const unique = "{unique--number}";

const streamsPerConnection = 8;
const steadyRates = { everyMs: 500, count: 3, within: 0.03 };
let nextNumber = Date.now() * 1000;

/** Runs a job. Errors: a plain Error if a response is not 200 or a connection fails. */
export async function measure(job: Job): Promise<Measured> {
  const latencies: number[] = [];
  let answers = 0;
  let isCounting = false;
  let isOver = false;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => {});
  const done = (startedMs: number) => {
    answers++;
    if (isCounting) latencies.push(performance.now() - startedMs);
    return !isOver;
  };
  const open = openerOf(job);
  const perConnection = job.protocol === "http1" ? 1 : streamsPerConnection;
  const sockets: Socket[] = [];
  for (let left = job.concurrency; left > 0; left -= perConnection)
    sockets.push(open(job, Math.min(left, perConnection), done, reject));
  const sleep = (ms: number) => Promise.race([failed, new Promise((resolve) => setTimeout(resolve, ms))]);
  if (!job.yieldsCore) spin(() => isOver);
  const rates: number[] = [];
  for (const endMs = performance.now() + job.warmUpMs; performance.now() < endMs; ) {
    const [before, beganMs] = [answers, performance.now()];
    await sleep(Math.min(steadyRates.everyMs, Math.max(0, endMs - beganMs)));
    rates.push((answers - before) / (performance.now() - beganMs));
    if (job.untilSteady && isSteady(rates)) break;
  }
  isCounting = true;
  const startMs = performance.now();
  await sleep(job.durationMs);
  const seconds = (performance.now() - startMs) / 1000;
  isOver = true;
  for (const socket of sockets) socket.destroy();
  latencies.sort((a, b) => a - b);
  const at = (part: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))] ?? Number.NaN;
  return { perSecond: latencies.length / seconds, medianMs: at(0.5), p99Ms: at(0.99), answers };
}

/** Makes one call after another, on one connection. Errors: as {@link measure}. */
export async function repeat(request: Request, times: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let left = times;
  const isMore = () => {
    if (--left === 0) resolve();
    return left > 0;
  };
  const socket = openerOf(request)(request, 1, isMore, reject);
  try {
    await promise;
  } finally {
    socket.destroy();
  }
}

/** Whether the last rates differ by less than the tolerance. */
function isSteady(rates: readonly number[]): boolean {
  const last = rates.slice(-steadyRates.count);
  return last.length === steadyRates.count && Math.max(...last) < Math.min(...last) * (1 + steadyRates.within);
}

/** Keeps the core of this process awake: waking it would cost the server more than the response. */
function spin(isOver: () => boolean): void {
  if (!isOver()) setImmediate(spin, isOver);
}

type Open = (
  request: Request,
  streams: number,
  done: (startedMs: number) => boolean,
  fail: (error: Error) => void,
) => Socket;

function openerOf({ protocol }: Request): Open {
  return protocol === "http1" ? openHttp1 : openHttp2;
}

/** How a chunked body ends; it comes in one piece with what is before it. */
const lastChunk = Buffer.from("\r\n0\r\n\r\n");

const openHttp1: Open = ({ host, port, path, method, headers, body }, _streams, done, fail) => {
  const data = Buffer.from(body, "base64");
  const length = method === "POST" ? { "content-length": data.length } : {};
  const fields = Object.entries({ host: "bench", ...headers, ...length }).map(([name, value]) => `${name}: ${value}`);
  const head = [`${method} ${path} HTTP/1.1`, ...fields, "", ""].join("\r\n");
  const request = Buffer.concat([Buffer.from(head), data]);
  const numberAt = request.indexOf(unique);
  const socket = connect(port, host).setNoDelay();
  let missing = -1;
  let isChunked = false;
  let startedMs = 0;
  const send = () => {
    startedMs = performance.now();
    socket.write(numbered(request, numberAt));
  };
  socket.once("connect", send).on("error", fail);
  socket.on("data", (chunk: Buffer) => {
    if (missing < 0) {
      const headEnd = chunk.indexOf("\r\n\r\n");
      const head = chunk.toString("latin1", 0, headEnd);
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
      isChunked = length === undefined && /\r\ntransfer-encoding: chunked/i.test(head);
      if (!head.startsWith("HTTP/1.1 200") || headEnd < 0 || (length === undefined && !isChunked))
        return fail(new Error(chunk.toString("utf8", 0, 1000)));
      missing = isChunked ? 0 : Number(length) - (chunk.length - headEnd - 4);
    } else if (!isChunked) missing -= chunk.length;
    if (isChunked ? !chunk.subarray(-lastChunk.length).equals(lastChunk) : missing > 0) return;
    missing = -1;
    if (done(startedMs)) send();
  });
  return socket;
};

/** A copy of the request with a unique number at the placeholder, if there is one. */
function numbered(request: Buffer, numberAt: number): Buffer {
  const copy = Buffer.from(request);
  if (numberAt >= 0) copy.write(String(nextNumber++), numberAt);
  return copy;
}

const frameHeader = 9;
const flags = { endStream: 1, endHeaders: 4, ack: 1 };
const types = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 };
const largestWindow = 2 ** 31 - 1;

const openHttp2: Open = ({ host, port, path, method, headers, body }, streams, done, fail) => {
  const fields = { ":method": method, ":scheme": "http", ":path": path, ":authority": "bench", ...headers };
  const block = Buffer.concat(Object.entries(fields).map(([name, value]) => literal(name, value)));
  const data = Buffer.from(body, "base64");
  const request = Buffer.concat([
    frame(types.headers, flags.endHeaders, 0, block),
    frame(types.data, flags.endStream, 0, data),
  ]);
  const dataAt = frameHeader + block.length;
  const numberAt = request.indexOf(unique);
  const socket = connect(port, host).setNoDelay();
  const started = new Map<number, number>();
  const answered = new Set<number>();
  let nextStream = 1;
  const send = () => {
    request.writeUInt32BE(nextStream, 5);
    request.writeUInt32BE(nextStream, dataAt + 5);
    started.set(nextStream, performance.now());
    nextStream += 2;
    socket.write(numbered(request, numberAt));
  };
  const settings = Buffer.alloc(6);
  settings.writeUInt16BE(4, 0); // SETTINGS_INITIAL_WINDOW_SIZE
  settings.writeUInt32BE(largestWindow, 2);
  const window = Buffer.alloc(4);
  window.writeUInt32BE(largestWindow - 65_535);
  socket.once("connect", () => {
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(Buffer.concat([frame(types.settings, 0, 0, settings), frame(types.windowUpdate, 0, 0, window)]));
    for (let i = 0; i < streams; i++) send();
  });
  socket.on("error", fail);

  let consumed = 0;
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (; bytes.length >= frameHeader; ) {
      const length = bytes.readUIntBE(0, 3);
      if (bytes.length < frameHeader + length) break;
      const type = bytes[3]!;
      const flag = bytes[4]!;
      const stream = bytes.readUInt32BE(5);
      if (type === types.settings && (flag & flags.ack) === 0)
        socket.write(frame(types.settings, flags.ack, 0, Buffer.alloc(0)));
      else if (type === types.ping && (flag & flags.ack) === 0)
        socket.write(frame(types.ping, flags.ack, 0, bytes.subarray(frameHeader, frameHeader + 8)));
      else if (type === types.reset || type === types.goAway)
        return fail(new Error(`the server ended a stream: frame ${type}`));
      else if (type === types.data) {
        consumed += length;
        if (length > 0) answered.add(stream);
      }
      if ((type === types.data || type === types.headers) && (flag & flags.endStream) !== 0) {
        if (!answered.delete(stream)) return fail(new Error("the server answered without a message"));
        const startedMs = started.get(stream)!;
        started.delete(stream);
        if (done(startedMs)) send();
      }
      bytes = bytes.subarray(frameHeader + length);
    }
    rest = bytes;
    if (consumed < 2 ** 24) return;
    const update = Buffer.alloc(4);
    update.writeUInt32BE(consumed);
    consumed = 0;
    socket.write(frame(types.windowUpdate, 0, 0, update));
  });
  return socket;
};

function frame(type: number, flag: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(frameHeader);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flag;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** HPACK: a literal field without indexing and without Huffman coding. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const length = [127];
  let left = bytes.length - 127;
  for (; left >= 128; left = Math.floor(left / 128)) length.push((left % 128) + 128);
  length.push(left);
  return Buffer.concat([Buffer.from(length), bytes]);
}

if (process.send !== undefined) {
  process.on("message", ({ id, job }: { id: number; job: Job }) => {
    measure(job).then(
      (measured) => process.send?.({ id, measured }),
      (error: Error) => process.send?.({ id, error: error.message }),
    );
  });
}
