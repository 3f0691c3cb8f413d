/**
 * The settings of a running server. A part that takes new values reads them in `current` whenever it uses them, or
 * follows them. The table of settings says which are reloadable.
 */
import { isDeepStrictEqual } from "node:util";
import { type Config, settings } from "../../config/index.ts";

/** What a change of the settings comes to. */
export interface SettingChanges {
  /** The settings that a running server takes. */
  readonly reloadable: readonly (keyof Config)[];
  /** The settings whose new values hold after a restart. */
  readonly others: readonly (keyof Config)[];
}

/** The settings of a running server. */
export class LiveSettings {
  #current: Config;
  readonly #followers: ((config: Config) => void)[] = [];

  constructor(config: Config) {
    this.#current = config;
  }

  /** The settings as they are now. */
  get current(): Config {
    return this.#current;
  }

  /** Calls `take` now and after each change, also if only files have changed that settings name. */
  follow(take: (config: Config) => void): void {
    this.#followers.push(take);
    take(this.#current);
  }

  /** What would change. */
  changesTo(next: Config): SettingChanges {
    const names = Object.keys(settings) as (keyof Config)[];
    const changed = names.filter((name) => !isDeepStrictEqual(next[name], this.#current[name]));
    const isTaken = (name: keyof Config) => {
      const { isReloadable } = settings[name];
      const isSet = ({ [name]: value }: Config) => value !== undefined;
      return isReloadable === "while set" ? isSet(next) && isSet(this.#current) : isReloadable === true;
    };
    return { reloadable: changed.filter(isTaken), others: changed.filter((name) => !isTaken(name)) };
  }

  /** Takes the reloadable settings of `next`. The others stay. */
  take(next: Config): void {
    const { reloadable } = this.changesTo(next);
    this.#current = { ...this.#current, ...Object.fromEntries(reloadable.map((name) => [name, next[name]])) };
    for (const take of this.#followers) take(this.#current);
  }
}
