/** The events of a registry. */
import type { WriteSession } from "../store/index.ts";

/** A push or a pull, as subscribers get it. */
export interface RegistryEvent {
  readonly type: "dev.platform.registry.push.v1" | "dev.platform.registry.pull.v1";
  /** The registry's host. */
  readonly source: string;
  /** The registry's own id of the event, the same in each repetition. */
  readonly id: string;
  readonly timeMs: number;
  /** Subject of the event. */
  readonly repoUid: string;
  /** Extension attributes beside `group`. */
  readonly attributes: Readonly<Record<"digest" | "mediatype" | "image", string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Records an event in the transaction of a session. */
export type RecordRegistryEvent = (session: WriteSession, event: RegistryEvent) => Promise<void>;
