/** The conformance service behind the doors of this server. */
import type { DescService } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { createOnePort } from "../../src/server/one-port.ts";
import { rpcDoors } from "../server/rpc-doors.ts";
import type { ServerCompatRequest } from "./gen/connectrpc/conformance/v1/server_compat_pb.ts";
import { ConformanceService } from "./gen/connectrpc/conformance/v1/service_pb.ts";
import { conformance, requestTarget } from "./service.ts";

const { clientStream, bidiStream, ...forwarded } = conformance;

/** What goes through the transport: all but the client streams, which our contract has none of and Connect's router serves itself. */
const forwardedService: DescService = {
  ...ConformanceService,
  methods: ConformanceService.methods.filter(({ methodKind }) => !/^(client|bidi)_streaming$/.test(methodKind)),
};

/** Serves, and gives the port. */
export async function serveByOurDoors(
  { serverCreds, messageReceiveLimit }: ServerCompatRequest,
  hasFastLane: boolean,
): Promise<number> {
  const onError = (error: Error) => console.error(error.message); // a client that goes early, as some cases want
  const doors = rpcDoors({
    implementations: [{ service: ConformanceService, methods: forwarded }],
    services: [forwardedService],
    mount(router) {
      const { method } = ConformanceService;
      router.rpc(method.clientStream, clientStream).rpc(method.bidiStream, bidiStream);
    },
    contextValues: ({ url }) => createContextValues().set(requestTarget, url ?? ""),
    hasFastLane,
    limits: { readMaxBytes: messageReceiveLimit },
    onError: (error) => onError(error as Error),
  });
  const port = createOnePort({
    ...doors,
    tls: serverCreds && { cert: Buffer.from(serverCreds.cert), key: Buffer.from(serverCreds.key) },
    refusalBody: () => "{}",
    onError,
  });
  return (await port.listen({ host: "127.0.0.1", port: 0 })).port;
}
