/** What the servers of one port have in common. */
import type { Socket } from "node:net";
import type { HttpRequest, HttpResponse, PortRequest, PortResponse } from "../message/index.ts";
import type { FixedFields } from "./fixed-fields.ts";
import type { PortLimits } from "./limits.ts";
import type { SharedBytes } from "./shared-bytes.ts";
import type { Turns } from "./turns.ts";

/** What each of them is made from. */
export interface ServerParts {
  readonly limits: PortLimits;
  /** The fields of every response. */
  readonly fixed: FixedFields;
  readonly turns: Turns;
  /** Counts the bytes of responses that are not sent yet. */
  readonly unsent: SharedBytes;
  onRequest(request: PortRequest, response: PortResponse): void;
  /** Answers a request that came while the port is overloaded. */
  onOverload(request: HttpRequest, response: HttpResponse): void;
  /**
   * Called before the requests in the bytes that were just read, and before each that came while another on its
   * connection was answered.
   */
  onRead(): void;
  /** The body, JSON text, of a response by the port itself. */
  refusalBody(httpStatus: number): string;
  onError(error: Error): void;
}

/** What each of them does. */
export interface ConnectionServer {
  /** Serves a connection. */
  accept(socket: Socket): void;
  /** Enforces the limits; to be called every `checkIntervalMs`. */
  check(): void;
  /** Ends idle connections now, and the others with their last response. */
  close(): void;
}
