/** What buffered responses have in common: header fields that are set one by one, and listeners for the end. */
import type { OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";

/** A buffered response. */
export abstract class BufferedResponseBase {
  #fields: OutgoingHttpHeaders | undefined;
  #listeners: (() => void)[] = [];

  getHeader(name: string): OutgoingHttpHeader | undefined {
    return this.#fields?.[name];
  }

  setHeader(name: string, value: OutgoingHttpHeader): void {
    this.#fields ??= {};
    this.#fields[name] = value;
  }

  /** `headers` and the fields that were set; `headers` has priority. */
  protected withSetFields(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
    return this.#fields === undefined ? headers : { ...this.#fields, ...headers };
  }

  once(_event: "close", listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Calls the listeners: the client has gone, or the response is sent. */
  close(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
