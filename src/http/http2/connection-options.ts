/** What HTTP/2 connections are made from. */
import type { FixedFields } from "../fixed-fields.ts";
import type { IncomingBodies } from "../incoming-bodies.ts";
import type { PortLimits } from "../limits.ts";
import type { SharedBytes } from "../shared-bytes.ts";
import type { Turns } from "../turns.ts";
import type { BridgeSocket } from "./node-bridge.ts";
import type { RequestHead } from "./simple-fields.ts";
import type { ServeBuffered } from "./stream.ts";

/** What the connections of one port are made from. */
export interface Http2ConnectionOptions {
  readonly limits: PortLimits;
  /** The fields of every response. */
  readonly fixed: FixedFields;
  readonly turns: Turns;
  /** Counts the bytes of responses that are not sent yet. */
  readonly unsent: SharedBytes;
  /** Counts the bytes of header lists of open streams. */
  readonly headers: SharedBytes;
  /** Counts the bytes of request bodies that are buffered. */
  readonly bodies: IncomingBodies;
  /** Decides by its head how a simple request is answered once it is buffered; undefined: by Node. */
  planFastPath(head: RequestHead): ServeBuffered | undefined;
  /** Answers a buffered request while the port is overloaded. */
  readonly onOverload: ServeBuffered;
  /** Called before the first stream that is opened by the bytes that were just read from a connection. */
  onRead(): void;
  /** Serves the streams that fall back, over HTTP/2. */
  serveByNode(socket: BridgeSocket): void;
}
