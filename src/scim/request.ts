/** A request of a provider's client, as the calls see it. */
import { headerOf } from "../message/index.ts";
import type { RunningCall } from "../pipeline/index.ts";
import { lockAccess } from "../services/index.ts";
import type { Database } from "../store/index.ts";
import { type BodyOptions, readJson } from "./body.ts";
import { Directory, type DirectoryOptions } from "./directory.ts";
import type { Parameters } from "./query.ts";
import type { ResourceType } from "./schemas.ts";

/** What requests work on. */
export interface RequestOptions extends Pick<DirectoryOptions, "events" | "now" | "base">, BodyOptions {
  readonly database: Database;
}

/** A request. */
export class ScimRequest {
  /** The `{id}` of its path. */
  readonly id: string;
  /** Those of its query. */
  readonly parameters: Parameters;
  /** Where clients reach the service. */
  readonly base: string;
  readonly #running: RunningCall;
  readonly #options: RequestOptions;

  constructor(id: string, query: URLSearchParams, running: RunningCall, options: RequestOptions) {
    this.id = id;
    this.parameters = (name) => query.get(name);
    this.base = options.base;
    this.#running = running;
    this.#options = options;
  }

  header(name: string): string | undefined {
    return headerOf(this.#running.request, name);
  }

  /** Its JSON. `type`: what it is about. Errors: ScimError, Refusal. */
  body(type?: ResourceType): Promise<unknown> {
    return readJson(this.#running, type, this.#options);
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
