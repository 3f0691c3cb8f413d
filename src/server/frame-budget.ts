/**
 * What a client may send on one connection beyond its requests. Every frame costs the server something, and few types are limited by what
 * they ask for:
 *
 * | frame | limited by |
 * |---|---|
 * | HEADERS | the streams it may open at once; for a stream that is over: asides |
 * | CONTINUATION | 16 frames and four times the largest header list for one header block |
 * | DATA | windows; without content, padded or not: faults, and asides for a stream that is over |
 * | RST_STREAM | faults within a second of the request (CVE-2023-44487), else the streams it may open; for a stream that is over: asides |
 * | SETTINGS | faults; acknowledgements: asides |
 * | PING, PRIORITY, WINDOW_UPDATE, GOAWAY, unknown types | asides |
 * | whatever its stream does not survive | faults (CVE-2025-8671) |
 *
 * A stream that the server resets or refuses costs the client nothing.
 */
import { constants } from "node:http2";
import { demand } from "./http2-frame-reader.ts";

/** So many at once, and so many more each second. */
interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** What a client without fault sends seldom. */
export const faults: Rate = { burst: 200, perSecond: 33 };
/** What a client may send beside its requests. Each request, and what is sent to it, earns more. */
export const asides: Rate = { burst: 1000, perSecond: 100 };

/** Asides that a request earns, and bytes of content that earn one: clients answer every frame of content by two WINDOW_UPDATE, or by PING. */
export const asidesOfRequest = 8;
export const bytesOfAside = 256;

/** What is left of a rate. */
export class Budget {
  readonly #rate: Rate;
  left: number;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.left = rate.burst;
  }

  /** Errors: `Http2Error` ENHANCE_YOUR_CALM when nothing is left. */
  spend(): void {
    this.left--;
    demand(this.left >= 0, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  earn(count: number): void {
    this.left += count;
  }

  refill(seconds: number): void {
    const { burst, perSecond } = this.#rate;
    if (this.left < burst) this.left = Math.min(burst, this.left + seconds * perSecond);
  }
}
