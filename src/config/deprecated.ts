/** The settings that others replace. They are accepted until the next release, with a warning. */
import type { Config } from "./settings.ts";
import { parseListen, parseSwitch } from "./values.ts";

/** A setting that others replace. */
export interface DeprecatedSetting {
  /** What to use instead, for people. */
  readonly use: string;
  /** The settings that replace it. */
  readonly replacedBy: readonly (keyof Config)[];
  /** As in `Setting`. */
  readonly placeholder?: string;
  /** The texts that it stands for, of settings that are not given. Errors: an Error, as those of `Setting.parse`. */
  become(text: string): Readonly<Partial<Record<keyof Config, string>>>;
}

const listen: DeprecatedSetting = {
  use: "--admin-listen=HOST:PORT, which answers probes and /metrics at one address",
  replacedBy: ["adminListen"],
  placeholder: "HOST:PORT",
  become(text) {
    parseListen(text);
    return { adminListen: text };
  },
};

/** They, by name. Where two stand for the same setting, the later one holds. */
export const deprecatedSettings = {
  fullDoors: {
    use: "--http2=node and --fast-path=off",
    replacedBy: ["http2", "fastPath"],
    become: (text) => (parseSwitch(text) ? { http2: "node", fastPath: "off" } : {}),
  },
  maxPatternIdentities: {
    use: "--max-patterns=NUMBER, which counts the patterns themselves",
    replacedBy: ["maxPatterns"],
    placeholder: "NUMBER",
    become: (text) => ({ maxPatterns: text }),
  },
  metricsListen: listen,
  probeListen: listen,
} as const satisfies Readonly<Record<string, DeprecatedSetting>>;

/** The name of one. */
export type DeprecatedName = keyof typeof deprecatedSettings;
