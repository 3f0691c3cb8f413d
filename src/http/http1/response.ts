/** The response to a simple HTTP/1.1 request: head and body in one piece, with the fields that Node would add. */

import { type OutgoingHttpHeader, type OutgoingHttpHeaders, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { BufferedResponse } from "../../message/index.ts";
import { BufferedResponseBase, checkField } from "../buffered-response.ts";
import { httpDate } from "../date.ts";
import type { SimpleRequest } from "./parse-request.ts";

/** The connection of a response. */
export interface ResponseConnection {
  readonly socket: Socket;
  /** The lines of the head that every response has. */
  readonly fixedLines: string;
  /** The lines of the head for `Connection` and, if it stays open, `Keep-Alive`. */
  readonly persistence: string;
  /** Called when the response is sent. */
  onAnswered(): void;
  /** Passes the connection to Node's server, which answers the request. */
  fallBack(): void;
}

/** The response to one request. Errors, of {@link writeHead}: TypeError for a field that is not printable ASCII. */
export class Http1Response extends BufferedResponseBase implements BufferedResponse {
  readonly req: SimpleRequest;
  readonly #connection: ResponseConnection;
  #head = "";
  #hasFallenBack = false;
  writableEnded = false;

  constructor(req: SimpleRequest, connection: ResponseConnection) {
    super();
    this.req = req;
    this.#connection = connection;
  }

  /** Whether the client has gone, or Node answers the request. */
  get destroyed(): boolean {
    return this.#hasFallenBack || this.#connection.socket.destroyed;
  }

  get connection(): Socket {
    return this.#connection.socket;
  }

  get headersSent(): boolean {
    return this.#head !== "";
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): this {
    const fields = this.withSetFields(headers);
    let lines = this.#connection.fixedLines;
    for (const name of Object.keys(fields)) {
      const value = fields[name];
      if (Array.isArray(value)) for (const one of value) lines += lineOf(name, one);
      else if (value !== undefined) lines += lineOf(name, value);
    }
    this.#head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}Date: ${httpDate()}\r\n`;
    return this;
  }

  /** Sends the response, unless the client has gone. The head must have its length. */
  end(content: string | Uint8Array, encoding: "latin1" | "utf8"): void {
    if (this.writableEnded || this.destroyed) return;
    const { socket } = this.#connection;
    const head = `${this.#head}${this.#connection.persistence}\r\n`;
    this.writableEnded = true;
    if (typeof content === "string") socket.write(head + content, encoding);
    else {
      socket.cork();
      socket.write(head, "latin1");
      socket.write(content);
      socket.uncork();
    }
    this.#connection.onAnswered();
  }

  destroy(): void {
    this.#connection.socket.destroy();
  }

  fallBack(): void {
    this.#hasFallenBack = true;
    this.#connection.fallBack();
  }
}

/** The last values of fields that most responses repeat, with their lines. */
const repeated = new Map(
  ["cache-control", "content-type", "vary"].map((name) => [name, { value: "" as OutgoingHttpHeader, line: "" }]),
);

function lineOf(name: string, value: OutgoingHttpHeader): string {
  const last = repeated.get(name);
  if (last !== undefined && last.value === value && value !== "") return last.line;
  checkField(name, value);
  const line = `${name}: ${value}\r\n`;
  if (last !== undefined) {
    last.value = value;
    last.line = line;
  }
  return line;
}
