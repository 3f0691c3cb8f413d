/** Asks a server to stop the statement that it runs for a connection. */
import pg from "pg";
import { internalsOf } from "./client-internals.ts";

/** How long a request may take. */
const requestMs = 1000;

/** The part of pg's connection that sends requests. */
interface RequestConnection extends NodeJS.EventEmitter {
  readonly stream: { destroy(): void };
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}

/**
 * Sends a cancel request, on a connection of its own. Resolves with true when the server has passed it on; no later
 * statement of the connection is hit by it then. Resolves with false when the server could not be asked.
 */
export function cancelStatement(client: pg.ClientBase): Promise<boolean> {
  const { processID, secretKey, ssl, host, port } = internalsOf(client);
  if (processID === null || secretKey === null) return Promise.resolve(false);
  const Connection = pg.Connection as unknown as new (options: { readonly ssl: boolean | object }) => RequestConnection;
  const connection = new Connection({ ssl });
  return new Promise((resolve) => {
    const finish = (isPassedOn: boolean) => {
      clearTimeout(timer);
      connection.stream.destroy();
      resolve(isPassedOn);
    };
    const timer = setTimeout(() => finish(false), requestMs);
    let isSent = false;
    const send = () => {
      isSent = true;
      connection.cancel(processID, secretKey);
    };
    connection.once("connect", () => (ssl === false ? send() : connection.requestSsl()));
    connection.once("sslconnect", send);
    connection.once("end", () => finish(isSent)); // the server closes the connection without an answer
    connection.on("error", () => finish(false));
    if (host.startsWith("/")) connection.connect(`${host}/.s.PGSQL.${port}`);
    else connection.connect(port, host);
  });
}
