/**
 * Limits for the frames that a client may send on one connection beyond its requests. Every frame costs the server
 * something, and few types are limited by what they request:
 *
 * | frame | limited by |
 * |---|---|
 * | HEADERS | the streams it may open at once; for a stream that is over: control frames |
 * | CONTINUATION | 16 frames and four times the largest header list for one header block |
 * | DATA | windows; without content, padded or not: abuse, and control frames for a stream that is over |
 * | RST_STREAM | abuse within a second of its request (CVE-2023-44487); for a stream that is over: control frames |
 * | SETTINGS | abuse; acknowledgements: control frames |
 * | PING, PRIORITY, WINDOW_UPDATE, GOAWAY, unknown types | control frames |
 * | a frame that is an error of its stream | abuse (CVE-2025-8671) |
 *
 * Streams that the server resets or refuses for its own reasons are not counted.
 */

import { demand } from "./frame-reader.ts";
import { errors } from "./frames.ts";

/** A number at once, and more each second. */
interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Frames that a client without fault rarely sends. */
const abuseRate: Rate = { burst: 200, perSecond: 33 };
/** Frames that accompany requests. Each request, and each response, allows more. */
export const controlFrameRate: Rate = { burst: 1000, perSecond: 100 };

/** Control frames that a request allows. */
const controlFramesPerRequest = 8;
/**
 * Bytes of response content that allow one control frame: clients answer each DATA frame with two WINDOW_UPDATE, or
 * with PING.
 */
const bytesPerControlFrame = 256;

/** What is left of a rate. */
class Budget {
  readonly #rate: Rate;
  left: number;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.left = rate.burst;
  }

  charge(): void {
    this.left--;
    demand(this.left >= 0, errors.enhanceYourCalm);
  }

  refill(seconds: number): void {
    const { burst, perSecond } = this.#rate;
    if (this.left < burst) this.left = Math.min(burst, this.left + seconds * perSecond);
  }
}

/** The limits of one connection. Errors, of what charges: `Http2Error` ENHANCE_YOUR_CALM when nothing is left. */
export class FrameBudgets {
  readonly #abuse = new Budget(abuseRate);
  readonly #controlFrames = new Budget(controlFrameRate);
  #refilledMs = performance.now();
  /** Response content that has been sent and has not been counted here, in bytes. */
  sentBytes = 0;

  chargeAbuse(): void {
    this.#abuse.charge();
  }

  chargeControlFrame(): void {
    if (this.#controlFrames.left < 1) {
      this.#controlFrames.left += this.sentBytes / bytesPerControlFrame;
      this.sentBytes = 0;
    }
    this.#controlFrames.charge();
  }

  /** Allows the control frames of one more request. */
  addRequest(): void {
    this.#controlFrames.left += controlFramesPerRequest;
  }

  /** Allows the frames of the time that has passed. */
  refill(nowMs: number): void {
    const seconds = (nowMs - this.#refilledMs) / 1000;
    this.#refilledMs = nowMs;
    this.#abuse.refill(seconds);
    this.#controlFrames.refill(seconds);
  }
}
