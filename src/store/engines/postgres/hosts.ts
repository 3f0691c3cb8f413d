/** The servers that a URL names. One of them is the primary, which takes writes; the others may become it. */
import pg from "pg";
import { RefusedError } from "../../sql/errors.ts";

/** libpq's values of `target_session_attrs` that a server which writes can ask for. */
const writable = new Set(["read-write", "primary"]);

/** The servers of a URL `postgres://user:password@host1:port1,host2:port2/database?target_session_attrs=read-write`. */
export class Hosts {
  readonly urls: readonly string[];
  #current = 0;
  /** Whether a server that is read-only, as a standby is, must not be used. */
  readonly mustWrite: boolean;

  /** Errors: RefusedError, without a cause, which might contain the password. */
  constructor(url: string) {
    const [, scheme = "", user = "", names = "", path = "", query = ""] =
      /^(\w+:\/\/)((?:[^/?#]*@)?)([^/?#]*)([^?#]*)\??([^#]*)/.exec(url) ?? [];
    const parameters = new URLSearchParams(query);
    const wanted = parameters.get("target_session_attrs");
    parameters.delete("target_session_attrs");
    const rest = parameters.size > 0 ? `${path}?${parameters}` : path;
    this.urls = names.split(",").map((name) => `${scheme}${user}${name}${rest}`);
    if (wanted !== null && wanted !== "any" && !writable.has(wanted))
      throw new RefusedError(
        `the URL of the database asks for target_session_attrs=${wanted}; this server writes, so use read-write`,
      );
    this.mustWrite = wanted === null ? this.urls.length > 1 : writable.has(wanted);
    this.addresses = this.urls.map(addressOf).join(", ");
  }

  /** Their addresses and the database, without a password. */
  readonly addresses: string;

  /** The URL of the server to connect to. */
  get url(): string {
    return this.urls[this.#current]!;
  }

  /** To be called when the server at `url` answers and takes writes. */
  use(url: string): void {
    this.#current = this.urls.indexOf(url);
  }

  /** To be called when the server at `url` could not be connected to, or is read-only. */
  failed(url: string): void {
    if (url === this.url) this.#current = (this.#current + 1) % this.urls.length;
  }
}

function addressOf(url: string): string {
  try {
    const { host, port, database } = new pg.Client(url);
    return `${host}:${port}/${database ?? ""}`;
  } catch (error) {
    throw new RefusedError(`the URL of the database cannot be used: ${(error as Error).message}`);
  }
}
