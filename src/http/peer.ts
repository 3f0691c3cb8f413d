/** The client of a request: its address, its certificate and its connection. */
import type { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type HttpRequest, type HttpResponse, isBuffered, isHttp2, type PortRequest } from "../message/index.ts";
import { verifiedCertificateOf } from "./tls.ts";

/** What a request came by: a socket, or what stands for one before Node's HTTP/2. */
type Connection = object & Pick<Socket, "remoteAddress" | "destroySoon">;

/** The connections of Node's HTTP/2 sessions, because Node does not tell of a connection that is not its own. */
const connections = new WeakMap<object, Connection>();

/** Notes the connection of a session of Node's HTTP/2. */
export function setConnection(session: object, connection: Connection): void {
  connections.set(session, connection);
}

function connectionOf(request: PortRequest): Connection | undefined {
  if (!isHttp2(request)) return (request as IncomingMessage).socket;
  const { session } = request.stream;
  return session && connections.get(session);
}

/** The address of the client of a request; undefined if it has gone. */
export function addressOf(request: HttpRequest, response: HttpResponse): string | undefined {
  return isBuffered(response) ? response.remoteAddress : connectionOf(request as PortRequest)?.remoteAddress;
}

/** The certificate of the client of a request, if it has one and the port has verified it. */
export function clientCertificateOf(request: HttpRequest, response: HttpResponse): X509Certificate | undefined {
  if (isBuffered(response)) return response.clientCertificate;
  return verifiedCertificateOf(connectionOf(request as PortRequest));
}

/** Closes the connection of a request once what was written to it has been sent. Other requests on it are lost, too. */
export function closeConnection(request: PortRequest): void {
  connectionOf(request)?.destroySoon();
}
