/** The client of a request: its address, its certificate and its connection. */
import type { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type HttpRequest, type HttpResponse, isBuffered, isHttp2, type PortRequest } from "../message/index.ts";
import { clientAddressOf, originOf } from "./addresses/origin.ts";

/** What a request came by: a socket, or what stands for one before Node's HTTP/2. */
type Connection = object & Pick<Socket, "destroySoon">;

/** The connections of requests of Node's HTTP/2, because Node does not expose a connection that is not its own. */
const connections = new WeakMap<object, Connection>();

/** Notes the connection of a request of Node's HTTP/2. */
export function setConnection(request: object, connection: Connection): void {
  connections.set(request, connection);
}

function connectionOf(request: PortRequest): Connection | undefined {
  return isHttp2(request) ? connections.get(request) : (request as IncomingMessage).socket;
}

function connectionOfEither(request: HttpRequest, response: HttpResponse): object | undefined {
  return isBuffered(response) ? response.connection : connectionOf(request as PortRequest);
}

/**
 * The address of the client of a request, as the connection or a trusted proxy says; undefined if it had gone at once.
 * An IPv4 address has its own form, whatever carries it.
 */
export function addressOf(request: HttpRequest, response: HttpResponse): string | undefined {
  const connection = connectionOfEither(request, response);
  return connection && clientAddressOf(connection, request.headers);
}

/** The certificate of the client of a request, if it has one and the port has verified it. */
export function clientCertificateOf(request: HttpRequest, response: HttpResponse): X509Certificate | undefined {
  const connection = connectionOfEither(request, response);
  return connection && originOf(connection).certificate;
}

/** Closes the connection of a request once what was written to it has been sent. Other requests on it are lost, too. */
export function closeConnection(request: PortRequest): void {
  connectionOf(request)?.destroySoon();
}
