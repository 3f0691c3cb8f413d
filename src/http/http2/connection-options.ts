/** What HTTP/2 connections are made from. */
import type { IncomingBodies } from "../incoming-bodies.ts";
import type { ServerParts } from "../server-parts.ts";
import type { SharedBytes } from "../shared-bytes.ts";
import type { BridgeSocket } from "./node-bridge.ts";
import type { RequestHead } from "./simple-fields.ts";
import type { ServeBuffered } from "./stream.ts";

/** What the connections of one port are made from. */
export interface Http2ConnectionOptions extends ServerParts {
  /** Counts the bytes of header lists of open streams. */
  readonly headers: SharedBytes;
  /** Counts the bytes of request bodies that are buffered. */
  readonly bodies: IncomingBodies;
  /** Decides by its head how a simple request is answered once it is buffered; undefined: by Node. */
  planFastPath(head: RequestHead): ServeBuffered | undefined;
  /** Serves the streams that fall back, over HTTP/2. */
  serveByNode(socket: BridgeSocket): void;
}
