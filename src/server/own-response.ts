/** What the responses of our own lanes have in common: header fields set one by one, and who is told that the client has gone. */
import type { OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";

/** A response before it is written. */
export abstract class OwnResponse {
  #fields: OutgoingHttpHeaders | undefined;
  #listeners: (() => void)[] = [];

  getHeader(name: string): OutgoingHttpHeader | undefined {
    return this.#fields?.[name];
  }

  setHeader(name: string, value: OutgoingHttpHeader): void {
    this.#fields ??= {};
    this.#fields[name] = value;
  }

  /** The fields that were set and these, which come before them. */
  protected withOwn(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
    return this.#fields === undefined ? headers : { ...this.#fields, ...headers };
  }

  once(_event: "close", listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Tells that the client has gone, or that all is sent. */
  close(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
