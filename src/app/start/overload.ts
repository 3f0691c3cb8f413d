/** The answer to requests while the server is overloaded. It is written in advance, because refusing must cost little. */
import { completeError, unavailable } from "../../errors.ts";
import { type HttpRequest, type HttpResponse, isBuffered } from "../../http/index.ts";
import { formatStatus, writeStatus } from "../../rest/index.ts";
import { refuseGrpc } from "../../rpc/index.ts";
import type { Api } from "../api.ts";
import { answerHeaders } from "../request-id.ts";

/** Refuses a request as UNAVAILABLE, in the protocol of the request. Header fields that have been set are kept. */
export function overloadAnswer(
  { registry }: Pick<Api, "registry">,
  serviceHost: string,
): (request: HttpRequest, response: HttpResponse) => void {
  const error = () => completeError(unavailable("the server is overloaded; try again"), serviceHost, undefined);
  const body = formatStatus(error(), registry);
  const headers = { "content-type": "application/json", "retry-after": "1", "content-length": Buffer.byteLength(body) };
  return (request, response) => {
    const contentType = request.headers["content-type"] ?? "";
    if (contentType.startsWith("application/grpc")) {
      if ("resume" in request) request.resume();
      refuseGrpc(response, contentType, error());
    } else if (isBuffered(response))
      response.writeHead(503, { ...answerHeaders(request.headers), ...headers }).end(body, "latin1");
    else void writeStatus(response, error(), { registry, headers: answerHeaders(request.headers) });
  };
}
