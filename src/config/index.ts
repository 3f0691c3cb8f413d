/**
 * config: the settings of the program, from flags, the environment and a file.
 *
 * One table (`settings.ts`) has the help text, the default and the parser of each setting. Everything else follows from
 * it: flags, variables, `--help`, `platform config`, the JSON Schema of the file.
 */
export { type DeprecatedSetting, deprecatedSettings } from "./deprecated.ts";
export type { ConsoleIssuer, ReservedClient } from "./issuers.ts";
export {
  addressUrlOf,
  baseUrlOf,
  ConfigError,
  type ConfigSources,
  flagOf,
  type GivenSetting,
  readConfig,
  readSettings,
  type SettingName,
  type SettingProblem,
  variableOf,
} from "./read.ts";
export { type Config, settings } from "./settings.ts";
export {
  defaultAdminListen,
  type JsonSchema,
  type ListenAddress,
  parseCount,
  parseKey,
  readSecret,
  type TermsDocument,
  withoutPasswords,
} from "./values.ts";
