/**
 * The server under test of the Connect conformance runner. It reads a configuration from stdin, serves, and writes its
 * address to stdout. Both messages follow their length in four bytes (https://github.com/connectrpc/conformance,
 * docs/testing_servers.md).
 *
 * Its argument selects the server: `platform`, this server as it is by default; `http2=node` and `fast-path=off`, this
 * server with that setting; `connect-node`, the library's own adapter on Node's own servers, for comparison.
 */
import { readFileSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { serveByConnectNode } from "./connect-node.ts";
import {
  type ServerCompatRequest,
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/server_compat_pb.ts";
import { serveByPlatform } from "./platform.ts";

/** Starts a server on 127.0.0.1 and returns its port. */
const servers: Record<string, (request: ServerCompatRequest) => Promise<number>> = {
  platform: (request) => serveByPlatform(request, { http2: "own", fastPath: true }),
  "http2=node": (request) => serveByPlatform(request, { http2: "node", fastPath: true }),
  "fast-path=off": (request) => serveByPlatform(request, { http2: "own", fastPath: false }),
  "connect-node": serveByConnectNode,
};

const request = fromBinary(ServerCompatRequestSchema, readFileSync(process.stdin.fd).subarray(4));
const port = await servers[process.argv[2] ?? ""]!(request);
answer({ host: "127.0.0.1", port, ...(request.serverCreds && { pemCert: request.serverCreds.cert }) });
flushCompileCache(); // a signal ends this process, and the next one starts faster

function answer(init: MessageInitShape<typeof ServerCompatResponseSchema>): void {
  const bytes = toBinary(ServerCompatResponseSchema, create(ServerCompatResponseSchema, init));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  process.stdout.write(Buffer.concat([length, bytes]));
}
