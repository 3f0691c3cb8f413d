/** The HTTP/2 connections whose frames this program reads itself. */
import type { ConnectionServer } from "../server-parts.ts";
import { Http2Connection } from "./connection.ts";
import type { Http2ConnectionOptions } from "./connection-options.ts";
import { settings, settingsFrame } from "./frames.ts";

/** The connections of one port, whose first bytes are still unread when they are accepted. */
export function createHttp2Connections(options: Http2ConnectionOptions): ConnectionServer {
  const connections = new Set<Http2Connection>();
  const { maxConcurrentStreams, maxHeaderBytes } = options.limits;
  const hello = settingsFrame(
    new Map([
      [settings.maxConcurrentStreams, maxConcurrentStreams],
      [settings.maxHeaderListSize, maxHeaderBytes],
    ]),
  );
  let isClosing = false;
  return {
    accept(socket) {
      const connection = new Http2Connection(socket, options, hello);
      connections.add(connection);
      socket.once("close", () => connections.delete(connection));
      if (isClosing) connection.retire();
    },
    check() {
      const nowMs = performance.now();
      for (const connection of connections) connection.check(nowMs);
    },
    close() {
      isClosing = true;
      for (const connection of connections) connection.retire();
    },
  };
}
