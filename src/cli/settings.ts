/** The settings as options of a command: `--listen`, `--database`, …; all of them, in every command that has a use for any. */
import type { Command } from "commander";
import { type Config, flagOf, readConfig, settings, variableOf } from "../config.ts";

/** Adds `--config`, `--log-level` and the named settings to a command. */
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
  return command.option("--config <FILE>", "JSON file of settings by name (PLATFORM_CONFIG)");
}

/** Reads the settings of a command from its flags, the environment and the file. Errors: ConfigError. */
export function settingsOf(command: Command): Config {
  const options = command.opts<Record<string, string | boolean | undefined>>();
  const flags = Object.fromEntries(
    (Object.keys(settings) as (keyof Config)[]).flatMap((key) =>
      options[key] === undefined ? [] : [[key, String(options[key])]],
    ),
  );
  return readConfig({
    flags,
    env: process.env,
    file: (options.config as string | undefined) ?? process.env.PLATFORM_CONFIG,
    warn: (message) => console.error(`warning: ${message}`),
  });
}
