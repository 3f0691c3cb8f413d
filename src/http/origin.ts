/** From where a request came, as audit records say it. */
import { type HttpRequest, type HttpResponse, headerOf } from "../message/index.ts";
import { addressOf } from "./peer.ts";

/** The origin of a request. What it lacks is "". */
export interface Origin {
  /** The `x-request-id`, which the server makes where the client gives none. */
  readonly requestId: string;
  /** The IP address of the client. */
  readonly address: string;
  readonly userAgent: string;
}

/** The origin of a request. */
export function originOf(request: HttpRequest, response: HttpResponse): Origin {
  return {
    requestId: headerOf(request, "x-request-id") ?? "",
    address: addressOf(request, response) ?? "",
    userAgent: headerOf(request, "user-agent") ?? "",
  };
}
