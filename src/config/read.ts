/**
 * Reads the settings. Flag and environment variable follow from the name. A flag wins over the environment, the
 * environment over the configuration file, the file over the default.
 */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { suggestion } from "../did-you-mean.ts";
import { type DeprecatedName, type DeprecatedSetting, deprecatedSettings } from "./deprecated.ts";
import { ephemeralDefaults, ephemeralProblems } from "./ephemeral.ts";
import { type Config, settings } from "./settings.ts";
import type { ListenAddress } from "./values.ts";

/** A value that cannot be used; the message names its flag, variable or file. */
export class ConfigError extends Error {}

const keys = Object.keys(settings) as (keyof Config)[];
const deprecatedNames = Object.keys(deprecatedSettings) as DeprecatedName[];

/** Variables of commands and clients that call a server. Shells that have them start servers too. */
const clientVariables = [
  "PLATFORM_SERVER",
  "PLATFORM_TOKEN",
  "PLATFORM_PROFILE",
  "PLATFORM_CLIENT_SECRET",
  "PLATFORM_ID_TOKEN",
  "PLATFORM_ID_TOKEN_FILE",
  "PLATFORM_COMPLETION_TIMEOUT",
];

/** The name of a setting, deprecated or not. */
export type SettingName = keyof Config | DeprecatedName;

/** `baseUrl` → `--base-url`. */
export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `baseUrl` → `PLATFORM_BASE_URL`. */
export function variableOf(name: SettingName): string {
  return `PLATFORM_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Where {@link readConfig} looks. */
export interface ConfigSources {
  /** Values of the flags given, by setting. */
  readonly flags: Readonly<Partial<Record<SettingName, string>>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Path of a JSON file whose keys are the settings' names. */
  readonly file?: string | undefined;
  /** Called for each `PLATFORM_*` variable that is not a setting, and for a deprecated setting. */
  warn(message: string): void;
}

/** A setting as it was given. */
export interface GivenSetting {
  /** Its text; undefined if it is not set and has no default. */
  readonly text: string | undefined;
  /** The flag, the variable, `FILE: key`, or `default`. */
  readonly origin: string;
}

/** Something wrong with what was given; the message is one line. */
export interface SettingProblem {
  /** `error`: nothing can start with it. The others are warnings of a start. */
  readonly kind: "error" | "unknown variable" | "deprecated";
  readonly message: string;
}

/** All settings, and all that is wrong with them. */
export interface ReadSettings {
  /** A value that is an error is undefined. */
  readonly config: Config;
  readonly given: Readonly<Record<keyof Config, GivenSetting>>;
  /** In the order of the sources. */
  readonly problems: readonly SettingProblem[];
}

/**
 * Reads all settings. Errors: ConfigError on an unusable value, an unknown key of the file, a certificate without its
 * key.
 */
export function readConfig(sources: ConfigSources): Config {
  const { config, problems } = readSettings(sources);
  for (const { kind, message } of problems) {
    if (kind === "error") throw new ConfigError(message);
    sources.warn(message);
  }
  return config;
}

/** Reads all settings, without stopping at the first problem. */
export function readSettings(sources: ConfigSources): ReadSettings {
  const problems: SettingProblem[] = [];
  const report = (kind: SettingProblem["kind"], message: string) => void problems.push({ kind, message });
  const known = new Set(["PLATFORM_CONFIG", "PLATFORM_WORKER", ...clientVariables, ...keys.map(variableOf)]);
  const deprecated = new Set(deprecatedNames.map(variableOf));
  for (const name of Object.keys(sources.env)) {
    if (name.startsWith("PLATFORM_") && !known.has(name) && !deprecated.has(name))
      report("unknown variable", `unknown environment variable ${name} is ignored${suggestion(name, known)}`);
  }
  const env = withoutServiceLink(sources.env, (message) => report("unknown variable", message));
  const file = sources.file === undefined ? {} : readFile(sources.file, (message) => report("error", message));

  /** The text of a setting and its origin. */
  const found = (name: SettingName) =>
    [
      { text: sources.flags[name], origin: flagOf(name) },
      { text: env[variableOf(name)], origin: variableOf(name) },
      { text: file[name], origin: `${sources.file}: ${name}` },
    ].find(({ text }) => text !== undefined);

  function parsed({ text, origin }: GivenSetting, parse: (text: string) => unknown): unknown {
    try {
      return text === undefined ? undefined : parse(text);
    } catch (error) {
      report("error", `${origin}: ${(error as Error).message}`);
      return undefined;
    }
  }

  const defaults: Partial<Record<keyof Config, GivenSetting>> = {};
  for (const name of deprecatedNames) {
    const { use, become }: DeprecatedSetting = deprecatedSettings[name];
    const old = found(name);
    if (old === undefined) continue;
    report("deprecated", `${old.origin} is deprecated: use ${use}`);
    const texts = Object.entries((parsed(old, become) ?? {}) as Record<string, string>);
    Object.assign(defaults, Object.fromEntries(texts.map(([key, text]) => [key, { text, origin: old.origin }])));
  }
  const standIn = found("ephemeral");
  if (standIn?.text === "true") {
    const texts = Object.entries(ephemeralDefaults(found("uidSeed") !== undefined));
    Object.assign(defaults, Object.fromEntries(texts.map(([key, text]) => [key, { text, origin: standIn.origin }])));
  }
  const given = Object.fromEntries(
    keys.map((key) => [key, found(key) ?? defaults[key] ?? { text: settings[key].default, origin: "default" }]),
  ) as Record<keyof Config, GivenSetting>;
  const config = Object.fromEntries(
    keys.map((key) => [key, parsed(given[key], settings[key].parse)]),
  ) as unknown as Config;
  for (const together of setTogether) {
    if (new Set(together.map((key) => given[key].text === undefined)).size > 1)
      report("error", `${together.map(flagOf).join(together.length === 2 ? " and " : ", ")} must be set together`);
  }
  if (given.tlsClientCa.text !== undefined && given.tlsCert.text === undefined)
    report("error", `${flagOf("tlsClientCa")} needs ${flagOf("tlsCert")}`);
  if (config.tlsClientIdentities === "on" && given.tlsClientCa.text === undefined)
    report("error", `${flagOf("tlsClientIdentities")}=on needs ${flagOf("tlsClientCa")}`);
  if (config.proxyProtocol === "on" && config.trustedProxies?.length === 0)
    report("error", `${flagOf("proxyProtocol")}=on needs ${flagOf("trustedProxies")}`);
  for (const message of ephemeralProblems(config, (key) => given[key].text !== undefined, flagOf))
    report("error", message);
  return { config, given, problems };
}

const setTogether: readonly (readonly (keyof Config)[])[] = [
  ["tlsCert", "tlsKey"],
  ["registryUrl", "registryGroup", "registrySecret"],
];

/** The URL that clients use: the setting, or else one for the address in use. */
export function baseUrlOf(config: Config, address: ListenAddress = config.listen): string {
  if (config.baseUrl !== undefined) return config.baseUrl;
  const anyHost = address.host === "0.0.0.0" || address.host === "::";
  return addressUrlOf(config, anyHost ? { ...address, host: "localhost" } : address);
}

/** The URL of the address in use. */
export function addressUrlOf({ tlsCert }: Config, { host, port }: ListenAddress): string {
  return `${tlsCert === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The settings in a file; `$schema` is for editors. */
function readFile(path: string, report: (message: string) => void): Partial<Record<SettingName, string>> {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    report(`${path}: ${withoutExcerpt((error as Error).message)}`);
    return {};
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    report(`${path}: not a JSON object`);
    return {};
  }
  const { $schema: _, ...others } = content as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(others).flatMap(([key, value]) => {
      if (!(keys as string[]).includes(key) && !(deprecatedNames as string[]).includes(key))
        report(`${path}: unknown key "${key}"${suggestion(key, keys)}`);
      else if (!["string", "number", "boolean"].includes(typeof value))
        report(`${path}: "${key}" must be a string, number or boolean`);
      else return [[key, String(value)]];
      return [];
    }),
  );
}

/** An error of JSON.parse without the text around it, which may be a secret. */
function withoutExcerpt(message: string): string {
  return message.replace(/,? (?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON$/s, ": not valid JSON");
}

/**
 * The environment without what Kubernetes injects for a service named `platform`: its address, as
 * PLATFORM_SERVICE_HOST, which is a setting here, and its port.
 */
function withoutServiceLink(env: ConfigSources["env"], report: (message: string) => void): ConfigSources["env"] {
  const { PLATFORM_SERVICE_HOST: host, ...others } = env;
  if (host === undefined || env.PLATFORM_SERVICE_PORT === undefined || isIP(host) === 0) return env;
  report("PLATFORM_SERVICE_HOST is ignored: with PLATFORM_SERVICE_PORT it is an address that Kubernetes injects");
  return others;
}
