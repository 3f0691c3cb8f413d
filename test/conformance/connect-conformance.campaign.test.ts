/**
 * The official Connect conformance runner against this server, as it is by default and with `--http2=node` and
 * `--fast-path=off`.
 */
import { describe, expect, it } from "vitest";
import { campaign } from "../campaign.ts";
import { buildRunner, runConformance } from "../connect-conformance/runner.ts";

const runner = buildRunner();

type Mode = [name: string, more: string[]];

const platform: Mode = ["platform", []];
const fallbacks: Mode[] = [
  // It changes nothing in HTTP/1.1, nor in codecs and compression, which are above it.
  [
    "http2=node",
    [
      ...["--run", "**/HTTPVersion:2/**"],
      ...["--skip", "**/Codec:CODEC_JSON/**"],
      ...["--skip", "**/Compression:COMPRESSION_GZIP/**"],
      ...["--skip", "**/Compression:COMPRESSION_BR/**"],
    ],
  ],
  ["fast-path=off", ["--run", "**/unary/**"]], // streams never take the fast path
];
const modes = campaign({ short: [platform], full: [platform, ...fallbacks] });

describe("every case that the runner has for what we serve", () => {
  it.skipIf(runner === undefined).each(modes)("%s", { timeout: 900_000 }, async (mode, more) => {
    const { hasPassed, printed } = await runConformance(runner!, mode, more);
    console.log(`${mode}: ${/\d+ passed.*/.exec(printed)?.[0]}`);
    expect(hasPassed, printed).toBe(true);
  });
});
