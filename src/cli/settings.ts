/** Settings as options of commands: `--listen`, `--database`, …. */
import { type Command, Option } from "commander";
import {
  type Config,
  type ConfigSources,
  type DeprecatedSetting,
  deprecatedSettings,
  flagOf,
  readConfig,
  type SettingName,
  settings,
  variableOf,
} from "../config/index.ts";

/** Adds `--config`, `--log-level` and the given settings, all by default, to a command. */
export function withSettings(
  command: Command,
  keys: readonly (keyof Config)[] = Object.keys(settings) as (keyof Config)[],
): Command {
  for (const key of new Set<keyof Config>([...keys, "logLevel"])) {
    const { help, placeholder, default: byDefault } = settings[key];
    const value = placeholder === undefined ? "" : ` <${placeholder}>`;
    const suffix =
      byDefault === undefined || byDefault === "" || placeholder === undefined ? "" : `, default ${byDefault}`;
    command.option(`${flagOf(key)}${value}`, `${help} (${variableOf(key)}${suffix})`);
  }
  for (const [name, { replacedBy, placeholder }] of Object.entries<DeprecatedSetting>(deprecatedSettings)) {
    const value = placeholder === undefined ? "" : ` <${placeholder}>`;
    if (replacedBy.some((key) => keys.includes(key)))
      command.addOption(new Option(`${flagOf(name as SettingName)}${value}`).hideHelp());
  }
  return command.option("--config <FILE>", "JSON file of settings by name (PLATFORM_CONFIG)");
}

/** Where the settings of a command come from: its flags, the environment and the file. */
export function sourcesOf(command: Command): ConfigSources {
  const options = command.opts<Record<string, string | boolean | undefined>>();
  const flags = Object.fromEntries(
    [...Object.keys(settings), ...Object.keys(deprecatedSettings)].flatMap((key) =>
      options[key] === undefined ? [] : [[key, String(options[key])]],
    ),
  );
  return {
    flags,
    env: process.env,
    file: (options.config as string | undefined) ?? process.env.PLATFORM_CONFIG,
    warn: (message) => console.error(`warning: ${message}`),
  };
}

/** Reads the settings of a command. Errors: ConfigError. */
export function settingsOf(command: Command): Config {
  return readConfig(sourcesOf(command));
}
