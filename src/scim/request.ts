/** A request of a provider's client, as the calls see it. */
import type { IncomingBodies } from "../http/index.ts";
import { headerOf, type PortRequest, type PortResponse } from "../message/index.ts";
import type { RunningCall } from "../pipeline/index.ts";
import { lockAccess } from "../services/index.ts";
import type { Database } from "../store/index.ts";
import { readJson } from "./body.ts";
import { Directory, type DirectoryOptions } from "./directory.ts";
import type { Parameters } from "./query.ts";
import type { ResourceType } from "./schemas.ts";

/** What requests work on. */
export interface RequestOptions extends Pick<DirectoryOptions, "events" | "now" | "base"> {
  readonly database: Database;
  readonly bodies: IncomingBodies;
  readonly maxBodyBytes: number;
}

/** A request. */
export class ScimRequest {
  /** The `{id}` of its path. */
  readonly id: string;
  readonly query: URLSearchParams;
  /** Where clients reach the service. */
  readonly base: string;
  readonly #request: PortRequest;
  readonly #response: PortResponse;
  readonly #running: RunningCall;
  readonly #options: RequestOptions;

  constructor(
    { id, query }: { readonly id: string; readonly query: URLSearchParams },
    [request, response]: readonly [PortRequest, PortResponse],
    running: RunningCall,
    options: RequestOptions,
  ) {
    this.id = id;
    this.query = query;
    this.base = options.base;
    this.#request = request;
    this.#response = response;
    this.#running = running;
    this.#options = options;
  }

  header(name: string): string | undefined {
    return headerOf(this.#request, name);
  }

  readonly parameters: Parameters = (name) => this.query.get(name);

  /** Its JSON. `type`: what it is about. Errors: ScimError, Refusal. */
  body(type?: ResourceType): Promise<unknown> {
    const { bodies, maxBodyBytes: maxBytes } = this.#options;
    return readJson(this.#request, this.#response, { type, bodies, maxBytes });
  }

  /** What the provider has. */
  directory(session: DirectoryOptions["session"] = this.#options.database.readFor(this.#running)): Directory {
    return new Directory({ ...this.#options, session, call: this.#running });
  }

  /** Changes what the provider has, in a transaction. */
  change<T>(work: (directory: Directory) => Promise<T>): Promise<T> {
    const running = this.#running;
    return this.#options.database.transact(
      async (session) => {
        await lockAccess(session, running.scope);
        return work(this.directory(session));
      },
      { call: running, payer: running.payer },
    );
  }
}
