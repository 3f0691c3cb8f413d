/**
 * The server under test of the Connect conformance runner: reads from stdin how to serve, serves, and says on stdout where. Both messages come
 * after their length in four bytes (https://github.com/connectrpc/conformance, docs/testing_servers.md).
 *
 * Its argument chooses what serves: `fast-lane`, our doors as they are; `full-door`, the same with the fast lane forced off; `connect-node`, the
 * library's own adapter on Node's own servers, which is what ours are held to.
 */
import { readFileSync } from "node:fs";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { serveByConnectNode } from "./connect-node.ts";
import {
  type ServerCompatRequest,
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/server_compat_pb.ts";
import { serveByOurDoors } from "./our-doors.ts";

/** How a server is made: listens on 127.0.0.1 and gives its port. */
const servers: Record<string, (request: ServerCompatRequest) => Promise<number>> = {
  "fast-lane": (request) => serveByOurDoors(request, true),
  "full-door": (request) => serveByOurDoors(request, false),
  "connect-node": serveByConnectNode,
};

const request = fromBinary(ServerCompatRequestSchema, readFileSync(process.stdin.fd).subarray(4));
const port = await servers[process.argv[2] ?? ""]!(request);
answer({ host: "127.0.0.1", port, ...(request.serverCreds && { pemCert: request.serverCreds.cert }) });

function answer(init: MessageInitShape<typeof ServerCompatResponseSchema>): void {
  const bytes = toBinary(ServerCompatResponseSchema, create(ServerCompatResponseSchema, init));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  process.stdout.write(Buffer.concat([length, bytes]));
}
