/** Refuses a request that no handler has seen, if it is an RPC, in its protocol. */
import type { OutgoingHttpHeaders } from "node:http";
import type { Registry } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamToJson,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { type HttpRequest, type HttpResponse, send } from "../message/index.ts";
import { jsonOptionsOf, refuseGrpc, rpcPath } from "./connect/adapter.ts";
import { pathOf } from "./handler.ts";

/** What {@link refuseRpc} needs besides the error. */
interface RefusalOptions {
  /** Finds the types of error details. */
  readonly registry: Registry;
  readonly headers: OutgoingHttpHeaders;
}

/** Answers an RPC with an error. Returns false, without an answer, for a request that is not an RPC. */
export function refuseRpc(
  request: HttpRequest,
  response: HttpResponse,
  error: () => ConnectError,
  { registry, headers }: RefusalOptions,
): boolean {
  const contentType = request.headers["content-type"] ?? "";
  if (contentType.startsWith("application/grpc")) {
    if ("resume" in request) request.resume();
    refuseGrpc(response, contentType, error());
    return true;
  }
  if (!rpcPath.test(pathOf(request))) return false;
  const made = error();
  if (/^application\/connect\+/.test(contentType)) {
    if ("resume" in request) request.resume();
    const end = endStreamToJson(new Headers(made.metadata), made, jsonOptionsOf(registry));
    const body = encodeEnvelope(endStreamFlag, new TextEncoder().encode(JSON.stringify(end)));
    void send(response, { httpStatus: 200, headers: { ...headers, "content-type": contentType }, body, isRaw: true });
    return true;
  }
  const all: OutgoingHttpHeaders = {
    ...headers,
    ...Object.fromEntries(made.metadata),
    "content-type": "application/json",
  };
  const body = errorToJsonBytes(made, jsonOptionsOf(registry));
  void send(response, { httpStatus: codeToHttpStatus(made.code), headers: all, body });
  return true;
}
