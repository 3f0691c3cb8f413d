/** The conformance service behind the port and the RPC handlers of this server. */

import type { DescService } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { createOnePort } from "../../src/http/index.ts";
import { rpcCallbacks } from "../rpc/handler-fixture.ts";
import type { ServerCompatRequest } from "./gen/connectrpc/conformance/v1/server_compat_pb.ts";
import { ConformanceService } from "./gen/connectrpc/conformance/v1/service_pb.ts";
import { conformance, requestTarget } from "./service.ts";

const { clientStream, bidiStream, ...forwarded } = conformance;

/**
 * The methods that are called through the transport: all but client streams, which our contract does not have and
 * Connect's router serves.
 */
const forwardedService: DescService = {
  ...ConformanceService,
  methods: ConformanceService.methods.filter(({ methodKind }) => !/^(client|bidi)_streaming$/.test(methodKind)),
};

/** The settings under test. */
export interface Mode {
  readonly http2: "own" | "node";
  readonly fastPath: boolean;
}

/** Serves, and returns the port. */
export async function serveByPlatform(
  { serverCreds, messageReceiveLimit }: ServerCompatRequest,
  { http2, fastPath }: Mode,
): Promise<number> {
  const onError = (error: Error) => console.error(error.message); // some cases want a client that leaves early
  const callbacks = rpcCallbacks({
    implementations: [{ service: ConformanceService, methods: forwarded }],
    services: [forwardedService],
    mount(router) {
      const { method } = ConformanceService;
      router.rpc(method.clientStream, clientStream).rpc(method.bidiStream, bidiStream);
    },
    contextValues: ({ url }) => createContextValues().set(requestTarget, url ?? ""),
    fastPath,
    limits: { readMaxBytes: messageReceiveLimit },
    onError: (error) => onError(error as Error),
  });
  const port = createOnePort({
    ...callbacks,
    http2,
    tls: serverCreds && { cert: Buffer.from(serverCreds.cert), key: Buffer.from(serverCreds.key) },
    limits: { maxWaitMs: Number.POSITIVE_INFINITY }, // nothing is refused, however busy the machine is
    refusalBody: () => "{}",
    onError,
  });
  return (await port.listen({ host: "127.0.0.1", port: 0 })).port;
}
