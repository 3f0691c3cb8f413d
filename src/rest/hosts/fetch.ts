/** The handler as a function from a request to a response of the Fetch standard: Deno, Bun, Next.js, and others. */
import type { OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";
import { Readable, Writable } from "node:stream";
import type { PortRequest, PortResponse } from "../../message/index.ts";
import { createRestHandler } from "../handler.ts";
import type { RestOptions } from "../options.ts";

/** Responds to one request. It rejects only when there is nobody to respond to. Hosts may pass more arguments. */
export type FetchHandler = (request: Request) => Promise<Response>;

/**
 * Builds the handler for all annotated methods. Responses are not compressed: hosts of such functions do that. Hooks
 * get a request with the fields of Node's: `method`, `url` (path and query) and `headers`. `next` answers requests that
 * no method has path and HTTP method of.
 * Errors: as `createRestHandler`.
 */
export function createFetchHandler(
  options: RestOptions,
  next?: (request: Request) => Response | Promise<Response>,
): FetchHandler {
  const handler = createRestHandler(options);
  return async (request) => {
    const incoming = new FetchRequest(request);
    const outgoing = new FetchResponse(incoming, request.signal);
    const pass = next && (() => outgoing.replaceBy(next(request)));
    void handler(incoming as unknown as PortRequest, outgoing as unknown as PortResponse, pass);
    return outgoing.answer;
  };
}

/** A request with the fields of Node's that the handler reads. The body is read only when it is needed. */
class FetchRequest extends Readable {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  /** The host discards a body that is not read. */
  readonly complete = true;
  readonly #body: ReadableStream<Uint8Array> | null;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor({ method, url, headers, body }: Request) {
    super();
    this.method = method;
    this.url = url.replace(/^[^:/?#]+:\/\/[^/?#]*/, "").replace(/#.*$/s, "");
    this.headers = Object.fromEntries(headers);
    delete this.headers["accept-encoding"];
    if (body !== null && this.headers["content-length"] === undefined) this.headers["transfer-encoding"] = "chunked";
    this.#body = body;
    this.on("error", () => {}); // the reader of the body sees it, if there is one
  }

  override _read(): void {
    this.#reader ??= this.#body?.getReader();
    if (this.#reader === undefined) this.push(null);
    else
      this.#reader.read().then(
        ({ done, value }) => this.push(done ? null : value),
        (error) => this.destroy(error),
      );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#reader?.cancel().catch(() => {}); // it has failed, or the client has gone
    callback(error);
  }
}

/** Statuses of responses without a body, for which `Response` takes none. */
const bodiless = new Set([204, 205, 304]);

/** What the handler writes, as a response. A chunk counts as sent when the host has asked for it. */
class FetchResponse extends Writable {
  readonly req: FetchRequest;
  headersSent = false;
  /** Rejected if the response is broken off before its first byte. */
  readonly answer: Promise<Response>;
  #resolve!: (response: Response | Promise<Response>) => void;
  #reject!: (reason: unknown) => void;
  readonly #fields: OutgoingHttpHeaders = {};
  #head: { readonly status: number; readonly headers: Headers } | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Sends the chunk that waits to be asked for. */
  #waiting: (() => void) | undefined;
  #isAsked = false;

  constructor(request: FetchRequest, signal: AbortSignal) {
    super();
    this.req = request;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.answer.catch(() => {}); // the host may have gone
    const leave = () => this.destroy();
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave);
    this.once("close", () => {
      signal.removeEventListener("abort", leave);
      request.destroy();
    });
  }

  /** Has another response sent instead. */
  replaceBy(response: Response | Promise<Response>): void {
    this.#resolve(response);
    super.end();
  }

  getHeader(name: string): OutgoingHttpHeader | undefined {
    return this.#fields[name];
  }

  setHeader(name: string, value: OutgoingHttpHeader): void {
    this.#fields[name] = value;
  }

  /** Errors: TypeError for a field that cannot be sent. */
  writeHead(status: number, fields: OutgoingHttpHeaders): this {
    const headers = new Headers();
    for (const [name, value] of Object.entries({ ...this.#fields, ...fields })) {
      if (value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) headers.append(name, String(one));
    }
    this.#head = { status, headers };
    this.headersSent = true;
    return this;
  }

  /** A body that is complete becomes one without a stream. */
  override end(content?: unknown): this {
    if (this.#controller === undefined && !this.destroyed) this.#respond(content as string | Uint8Array | undefined);
    return super.end();
  }

  override _write(chunk: Uint8Array, _: unknown, callback: () => void): void {
    if (this.#controller === undefined) this.#respondPiecewise();
    this.#waiting = () => {
      this.#controller?.enqueue(chunk);
      callback();
    };
    if (this.#isAsked) this.#sendWaiting();
  }

  override _final(callback: () => void): void {
    this.#controller?.close();
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.writableFinished) {
      const reason = error ?? new Error("the response was broken off");
      this.#reject(reason);
      this.#controller?.error(reason);
    }
    callback(null);
  }

  #respondPiecewise(): void {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#isAsked = true;
          this.#sendWaiting();
        },
        cancel: () => void this.destroy(),
      },
      { highWaterMark: 0 },
    );
    this.#respond(body);
  }

  #sendWaiting(): void {
    const send = this.#waiting;
    if (send === undefined) return;
    this.#waiting = undefined;
    this.#isAsked = false;
    send();
  }

  #respond(body: string | Uint8Array | ReadableStream | undefined): void {
    const isBodiless = bodiless.has(this.#head?.status ?? 200) || this.req.method === "HEAD";
    this.#resolve(new Response(isBodiless ? null : (body ?? null), this.#head));
  }
}
