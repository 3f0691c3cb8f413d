/** h2spec, https://github.com/summerwind/h2spec, against a port whose streams are the lane's, Node's behind it, or handed from one to the other. */
import { execFile } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ServeWhole } from "../../src/server/http2-stream.ts";
import { goProgram } from "../go-program.ts";
import { openPort } from "../server/open-port.ts";

const h2spec = goProgram("github.com/summerwind/h2spec/cmd/h2spec", "v2.2.1+incompatible");

const content = "content";
const answer: ServeWhole = (_request, response) =>
  void response.writeHead(200, { "content-length": content.length }).end(content, "latin1");

/** What a preface that is none gets: it may be HTTP/1.1, and is answered so before the connection is closed. */
const ofSharedPorts = "2: Sends invalid connection preface";
/** Node ends the session at a length that is not that of the content: the streams behind the lane are reset, but not with the code that is asked for. */
const ofNode = ["the DATA frame payload length", "the sum of the multiple DATA frames payload length"].map(
  (what, i) => `${i + 1}: Sends a HEADERS frame with the "content-length" header field which does not equal ${what}`,
);

describe("every case of h2spec, strict ones too", () => {
  it.skipIf(h2spec === undefined).each<[what: string, serve: ServeWhole | undefined, failing: string[]]>([
    ["by the lane", answer, [ofSharedPorts]],
    ["by Node, behind it", undefined, [ofSharedPorts, ...ofNode]],
    ["handed back", (_request, response) => response.handBack(), [ofSharedPorts]],
  ])("%s", { timeout: 120_000 }, async (_what, serve, failing) => {
    const { number, port } = await openPort(false, {
      takePlain: () => serve,
      onRequest: (request, response) => void request.on("end", () => response.end(content)).resume(),
    });
    onTestFinished(() => port.close({ graceMs: 0 }));
    const printed = await new Promise<string>((resolve) => {
      execFile(h2spec!, ["-p", String(number), "-S", "--timeout", "5"], (_error, stdout) => resolve(stdout));
    });
    const failures = printed.slice(printed.indexOf("Failures:")).match(/(?<=× ).*/g);
    expect(failures, printed).toEqual(failing);
    expect(printed).toContain(`146 tests, ${146 - failing.length} passed`);
  });
});
