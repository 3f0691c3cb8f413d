/** The context of a start. */
import type { Config } from "../../config/index.ts";
import type { Logger } from "../../log.ts";
import type { Metrics } from "../../metrics/index.ts";
import type { Tracing } from "../../tracing/index.ts";
import type { Readiness } from "../admin/readiness.ts";
import type { Api } from "../api.ts";
import type { Counter } from "../counter.ts";
import type { Peers } from "../peers.ts";
import type { LiveSettings } from "../settings/live-settings.ts";
import type { Overload } from "./overload.ts";
import type { Probing } from "./probing.ts";

/** What every phase of a start is given. */
export interface StartContext {
  /** The settings of the start. */
  readonly config: Config;
  /** The settings as they are now. */
  readonly live: LiveSettings;
  readonly log: Logger;
  readonly api: Api;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly overload: Overload;
  /** Counts the requests that rate limits have refused, by limit. */
  readonly rateLimited: Counter;
  /**
   * What is measured: a phase adds what it knows. Undefined while nothing asks for it (`--metrics`, `--admin-listen`).
   */
  readonly metrics: Metrics | undefined;
  readonly peers: Peers;
  /** Whether the server takes calls. A phase adds the conditions that it knows. */
  readonly readiness: Readiness;
  /** Records calls and deliveries; undefined: nothing is. */
  readonly tracing: Tracing | undefined;
  /** Of this process. */
  readonly probing: Probing;
  /** Each phase adds what it opens; a failed start, and stop(), close it in reverse. */
  readonly stack: AsyncDisposableStack;
}
