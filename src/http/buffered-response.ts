/**
 * What buffered responses have in common: header fields that are set one by one and checked before they are sent, and
 * listeners for the end.
 */
import type { OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";

/** A buffered response. */
export abstract class BufferedResponseBase {
  #fields: OutgoingHttpHeaders | undefined;
  #listeners: (() => void)[] | undefined;

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
    this.#listeners ??= [];
    this.#listeners.push(listener);
  }

  /** Calls the listeners: the client has gone, or the response is sent. */
  close(): void {
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (listeners !== undefined) for (const listener of listeners) listener();
  }
}

const fieldName = /^[!#-'*+.^`|~\w-]+$/;
const fieldValue = /^[ -~]*$/;
const maxKnownNames = 1000;
/** Names that have been checked: responses repeat a few. */
const knownNames = new Set<string>();

/** Errors: TypeError for a field that is not printable ASCII. */
export function checkField(name: string, value: OutgoingHttpHeader): void {
  const isValid =
    (knownNames.has(name) || isName(name)) && (typeof value === "number" || fieldValue.test(String(value)));
  if (!isValid) throw new TypeError(`the header field ${JSON.stringify(name)} is not printable ASCII`);
}

function isName(name: string): boolean {
  const isValid = fieldName.test(name);
  if (isValid && knownNames.size < maxKnownNames) knownNames.add(name);
  return isValid;
}
