/**
 * h2spec, https://github.com/summerwind/h2spec, against a port whose streams are answered by the fast path, by Node
 * behind our frame reader, by one after the other, and by Node alone (`--http2=node`).
 */
import { execFile } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { ServeBuffered } from "../../src/http/http2/stream.ts";
import type { OnePortOptions } from "../../src/http/port.ts";
import { campaign } from "../campaign.ts";
import { goProgram } from "../go-program.ts";
import { openPort } from "../http/open-port.ts";

const h2spec = goProgram("github.com/summerwind/h2spec/cmd/h2spec", "v2.2.1+incompatible");

const content = "content";
const answer: ServeBuffered = (_request, response) =>
  void response.writeHead(200, { "content-length": content.length }).end(content, "latin1");

/**
 * A port that also serves HTTP/1.1 answers an invalid preface as an HTTP/1.1 request, with 400, before it closes the
 * connection.
 */
const sharedPort = ["2: Sends invalid connection preface"];
/** Node ends its session with us, so that all its streams are reset with INTERNAL_ERROR instead of PROTOCOL_ERROR. */
const behindOurs = ["the DATA frame payload length", "the sum of the multiple DATA frames payload length"].map(
  (what, i) => `${i + 1}: Sends a HEADERS frame with the "content-length" header field which does not equal ${what}`,
);
/** What Node and its nghttp2 do otherwise. */
const node = [
  // nghttp2 ignores frames of streams that are closed, and takes a smaller id for one of them.
  "8: closed: Sends a DATA frame after sending RST_STREAM frame",
  "9: closed: Sends a HEADERS frame after sending RST_STREAM frame",
  "11: closed: Sends a DATA frame",
  "12: closed: Sends a HEADERS frame",
  "2: Sends stream identifier that is numerically smaller than previous",
  // It ignores PRIORITY, which RFC 9113 has deprecated, without looking at it.
  "2: Sends PRIORITY frame that depend on itself",
  "1: Sends a PRIORITY frame with 0x0 stream identifier",
  // Node ends the connection at a PING acknowledgement that it has not asked for, and at a flow control error of a
  // stream.
  "2: Sends a PING frame with ACK",
  "3: Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream",
];
/** The same, if the stream has been answered, and so closed, before the frame arrives. */
const nodeIfSlow = '2: Sends a DATA frame on the stream that is not in "open" or "half-closed (local)" state';

type Way = [what: string, options: Partial<OnePortOptions>, failing: string[]];

const fastPath: Way = ["by the fast path", { planFastPath: () => answer }, sharedPort];
const fallbacks: Way[] = [
  ["by Node, behind our frame reader", {}, [...sharedPort, ...behindOurs]],
  ["by Node, after the fast path", { planFastPath: () => (_request, response) => response.fallBack() }, sharedPort],
  ["by Node alone", { http2: "node" }, [...sharedPort, ...node]],
];

// At the same time, since most of it is waiting for what does not come.
describe.concurrent("every case of h2spec, strict ones too", () => {
  it.skipIf(h2spec === undefined).each(campaign({ short: [fastPath], full: [fastPath, ...fallbacks] }))(
    "%s",
    { timeout: 120_000 },
    async (_what, options, failing) => {
      const { number, port } = await openPort(false, {
        ...options,
        limits: { maxWaitMs: Number.POSITIVE_INFINITY }, // nothing is refused, however busy the machine is
        onRequest: (request, response) => void request.on("end", () => response.end(content)).resume(),
      });
      try {
        const printed = await new Promise<string>((resolve) => {
          execFile(h2spec!, ["-p", String(number), "-S", "--timeout", "5"], (_error, stdout) => resolve(stdout));
        });
        const failures: string[] = printed.slice(printed.indexOf("Failures:")).match(/(?<=× ).*/g) ?? [];
        const isSlow = options.http2 === "node" && failures.includes(nodeIfSlow);
        expect(isSlow ? failures.filter((failure) => failure !== nodeIfSlow) : failures, printed).toEqual(failing);
        expect(printed).toContain(`146 tests, ${146 - failures.length} passed`);
      } finally {
        await port.close({ graceMs: 0 });
      }
    },
  );
});
