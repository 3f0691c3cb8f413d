/** The conformance service behind `connectNodeAdapter`, as any user of the library would serve it. */
import { createServer as createHttp1 } from "node:http";
import { createServer as createHttp2, createSecureServer as createSecureHttp2 } from "node:http2";
import { createServer as createSecureHttp1 } from "node:https";
import type { AddressInfo } from "node:net";
import { createRegistry } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip, connectNodeAdapter } from "@connectrpc/connect-node";
import { HTTPVersion } from "./gen/connectrpc/conformance/v1/config_pb.ts";
import type { ServerCompatRequest } from "./gen/connectrpc/conformance/v1/server_compat_pb.ts";
import {
  ConformanceService,
  file_connectrpc_conformance_v1_service,
} from "./gen/connectrpc/conformance/v1/service_pb.ts";
import { conformance, requestTarget } from "./service.ts";

/** Serves, and returns the port. */
export function serveByConnectNode({ httpVersion, serverCreds, messageReceiveLimit }: ServerCompatRequest) {
  const adapter = connectNodeAdapter({
    routes: (router) => router.service(ConformanceService, conformance),
    readMaxBytes: messageReceiveLimit,
    acceptCompression: [compressionGzip, compressionBrotli],
    jsonOptions: { registry: createRegistry(file_connectrpc_conformance_v1_service) },
    contextValues: ({ url }) => createContextValues().set(requestTarget, url ?? ""),
  });
  const tls = serverCreds && { cert: Buffer.from(serverCreds.cert), key: Buffer.from(serverCreds.key) };
  const isHttp1 = httpVersion === HTTPVersion.HTTP_VERSION_1;
  const server = isHttp1
    ? tls
      ? createSecureHttp1(tls, adapter)
      : createHttp1(adapter)
    : tls
      ? createSecureHttp2(tls, adapter)
      : createHttp2(adapter);
  return new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
