/** The answer to a plain request: head and body in one piece, with the fields that Node would add. */
import { type OutgoingHttpHeader, type OutgoingHttpHeaders, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { WholeResponse } from "../rest/index.ts";
import { httpDate } from "./http-date.ts";
import { OwnResponse } from "./own-response.ts";
import type { PlainRequest } from "./plain-request.ts";

/** What a response is sent by. */
export interface PlainConnection {
  readonly socket: Socket;
  /** `Connection`, and `Keep-Alive` where it is to stay: lines of a head. */
  readonly persistence: string;
  /** Told that the response is sent. */
  onAnswered(): void;
  /** Has somebody else answer the request. */
  handBack(): void;
}

/** The response to one plain request. Errors, of {@link writeHead}: TypeError for a field that is not printable ASCII. */
export class PlainResponse extends OwnResponse implements WholeResponse {
  readonly req: PlainRequest;
  readonly #connection: PlainConnection;
  #head = "";
  #isHandedBack = false;
  writableEnded = false;

  constructor(req: PlainRequest, connection: PlainConnection) {
    super();
    this.req = req;
    this.#connection = connection;
  }

  /** Whether the client has gone, or somebody else answers it. */
  get destroyed(): boolean {
    return this.#isHandedBack || this.#connection.socket.destroyed;
  }

  get headersSent(): boolean {
    return this.#head !== "";
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): this {
    const fields = this.withOwn(headers);
    let lines = "";
    for (const name of Object.keys(fields)) {
      const value = fields[name];
      if (Array.isArray(value)) for (const one of value) lines += lineOf(name, one);
      else if (value !== undefined) lines += lineOf(name, value);
    }
    this.#head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}Date: ${httpDate()}\r\n`;
    return this;
  }

  /** Sends the response, unless the client has gone. Its head has the length of the content. */
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

  handBack(): void {
    this.#isHandedBack = true;
    this.#connection.handBack();
  }
}

const plainLine = /^[!#-'*+.^`|~\w-]+: [ -~]*\r\n$/;

function lineOf(name: string, value: OutgoingHttpHeader): string {
  const line = `${name}: ${value}\r\n`;
  if (!plainLine.test(line)) throw new TypeError(`the header field ${JSON.stringify(name)} is not printable ASCII`);
  return line;
}
