/** A gRPC proxy that answers the first call of each method with UNAVAILABLE. */
import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

const unavailable = { ":status": 200, "content-type": "application/grpc", "grpc-status": "14" };

/** A proxy in front of a server. */
export interface FailingFirst {
  readonly baseUrl: string;
  /** The paths of the methods that it answered with UNAVAILABLE. */
  readonly failed: ReadonlySet<string>;
}

/**
 * Starts a proxy for one test. It does not send a call that it fails to `baseUrl`, except for paths that `isLost`
 * accepts: the server carries these out, and its answer is lost.
 */
export async function failingFirst(baseUrl: string, isLost: (path: string) => boolean): Promise<FailingFirst> {
  const failed = new Set<string>();
  // A server closes an idle connection, and a client may take a minute to be built before its first call.
  let upstream: ClientHttp2Session | undefined;
  const connected = () => {
    if (upstream === undefined || upstream.closed || upstream.destroyed) upstream = connect(baseUrl);
    return upstream;
  };
  const server = createServer().on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const path = headers[":path"] as string;
    const isFirst = !failed.has(path);
    failed.add(path);
    if (isFirst && !isLost(path)) return stream.respond(unavailable, { endStream: true });
    const call = connected().request({ ...headers, ":authority": new URL(baseUrl).host });
    stream.pipe(call);
    if (isFirst) return call.resume().on("end", () => stream.respond(unavailable, { endStream: true }));
    let trailers: IncomingHttpHeaders = {};
    call.on("trailers", (received) => {
      trailers = received;
    });
    call.on("response", (received, flags) => {
      const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      stream.on("wantTrailers", () => stream.sendTrailers(trailers));
      stream.respond(received, { endStream, waitForTrailers: !endStream });
      if (!endStream) call.pipe(stream);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    upstream?.destroy();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, failed };
}
