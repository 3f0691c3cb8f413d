/**
 * Reads the settings. Flag and environment variable follow from the name. A flag wins over the environment, the
 * environment over the configuration file, the file over the default.
 */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { type Config, settings } from "./config-settings.ts";
import { type ListenAddress, parseSwitch, type RegistryCredentials, type TermsDocument } from "./config-values.ts";
import { suggestion } from "./did-you-mean.ts";

export { type Config, type Setting, settings } from "./config-settings.ts";
export type { ListenAddress, RegistryCredentials, TermsDocument };

/** A value that cannot be used; the message names its flag, variable or file. */
export class ConfigError extends Error {}

const keys = Object.keys(settings) as (keyof Config)[];

/** The setting that `http2` and `fastPath` replace; it is accepted until the next release. */
const fullDoors = "fullDoors";
type SettingName = keyof Config | typeof fullDoors;

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

/**
 * Reads all settings. Errors: ConfigError on an unusable value, an unknown key of the file, a certificate without its
 * key.
 */
export function readConfig(sources: ConfigSources): Config {
  const known = new Set(["PLATFORM_CONFIG", "PLATFORM_WORKER", ...keys.map(variableOf)]);
  for (const name of Object.keys(sources.env)) {
    if (name.startsWith("PLATFORM_") && !known.has(name) && name !== variableOf(fullDoors))
      sources.warn(`unknown environment variable ${name} is ignored${suggestion(name, known)}`);
  }
  const env = withoutServiceLink(sources);
  const file = sources.file === undefined ? {} : readFile(sources.file);

  /** The text of a setting and its origin. */
  const given = (name: SettingName) =>
    [
      { text: sources.flags[name], origin: flagOf(name) },
      { text: env[variableOf(name)], origin: variableOf(name) },
      { text: file[name], origin: `${sources.file}: ${name}` },
    ].find(({ text }) => text !== undefined);

  function parsed(name: SettingName, parse: (text: string) => unknown, byDefault: string | undefined): unknown {
    const { text, origin } = given(name) ?? { text: byDefault, origin: name };
    try {
      return text === undefined ? undefined : parse(text);
    } catch (error) {
      throw new ConfigError(`${origin}: ${(error as Error).message}`);
    }
  }

  const deprecated = given(fullDoors);
  if (deprecated !== undefined)
    sources.warn(`${deprecated.origin} is deprecated: use --http2=node and --fast-path=off`);
  const isFullDoors = parsed(fullDoors, parseSwitch, "false");
  const defaults: Partial<Record<keyof Config, string>> = isFullDoors ? { http2: "node", fastPath: "off" } : {};
  const config = Object.fromEntries(
    keys.map((key) => [key, parsed(key, settings[key].parse, defaults[key] ?? settings[key].default)]),
  ) as unknown as Config;
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined)) {
    throw new ConfigError(`${flagOf("tlsCert")} and ${flagOf("tlsKey")} must be set together`);
  }
  const together = ["registryUrl", "registryGroup", "registrySecret"] as const;
  if (new Set(together.map((key) => config[key] === undefined)).size > 1)
    throw new ConfigError(`${together.map(flagOf).join(", ")} must be set together`);
  return config;
}

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

function readFile(path: string): Partial<Record<SettingName, string>> {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new ConfigError(`${path}: ${(error as Error).message}`);
  }
  if (typeof content !== "object" || content === null || Array.isArray(content))
    throw new ConfigError(`${path}: not a JSON object`);
  for (const [key, value] of Object.entries(content)) {
    if (!(keys as string[]).includes(key) && key !== fullDoors)
      throw new ConfigError(`${path}: unknown key "${key}"${suggestion(key, keys)}`);
    if (!["string", "number", "boolean"].includes(typeof value))
      throw new ConfigError(`${path}: "${key}" must be a string, number or boolean`);
  }
  return Object.fromEntries(Object.entries(content).map(([key, value]) => [key, String(value)]));
}

/**
 * The environment without what Kubernetes injects for a service named `platform`: its address, as
 * PLATFORM_SERVICE_HOST, which is a setting here, and its port.
 */
function withoutServiceLink({ env, warn }: ConfigSources): ConfigSources["env"] {
  const { PLATFORM_SERVICE_HOST: host, ...others } = env;
  if (host === undefined || env.PLATFORM_SERVICE_PORT === undefined || isIP(host) === 0) return env;
  warn("PLATFORM_SERVICE_HOST is ignored: with PLATFORM_SERVICE_PORT it is an address that Kubernetes injects");
  return others;
}
