/** `platform config print`: every setting, its value, and where that came from. */
import { Command } from "commander";
import {
  type Config,
  flagOf,
  type GivenSetting,
  readSettings,
  settings,
  withoutPasswords,
} from "../../config/index.ts";
import { printListing } from "../listing.ts";
import { sourcesOf, withSettings } from "../settings.ts";
import { printProblems } from "./check.ts";

/** A setting, as it is printed. */
interface PrintedSetting {
  readonly setting: keyof Config;
  /** Null if it is not set and has no default. */
  readonly value: string | null;
  readonly origin: string;
  readonly reloadable: boolean;
}

export function printCommand(): Command {
  const command = withSettings(new Command("print"))
    .description("print every setting of serve, its value, and where that came from; secrets are masked")
    .option("--json", "print one JSON object for each setting");
  return command.action(async () => {
    const { given, problems } = readSettings(sourcesOf(command));
    const printed = (Object.keys(settings) as (keyof Config)[]).map((key) => printedOf(key, given[key]));
    const { columns } = process.stdout;
    const widths = widthsOf(printed, columns);
    await printListing(
      printed,
      {
        columns: [
          ["SETTING", widths.setting, ({ setting }) => flagOf(setting)],
          ["VALUE", widths.value, ({ value }) => shortened(value ?? "", widths.value)],
          ["ORIGIN", widths.origin, ({ origin }) => shortened(origin, widths.origin)],
        ],
      },
      command.opts<{ json?: boolean }>().json === true,
    );
    printProblems(problems);
  });
}

function printedOf(setting: keyof Config, { text, origin }: GivenSetting): PrintedSetting {
  const { isSecret = false, isReloadable = false } = settings[setting];
  const shown =
    text === undefined ? null : isSecret && text !== settings[setting].default ? "***" : withoutPasswords(text);
  return { setting, value: shown, origin, reloadable: isReloadable !== false };
}

/** The widths of columns, in characters: those of their texts or, on a terminal, less. */
function widthsOf(printed: readonly PrintedSetting[], columns: number | undefined) {
  const widest = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length));
  const setting = widest(printed.map(({ setting }) => flagOf(setting)));
  const value = widest(printed.map(({ value }) => value ?? ""));
  const origin = widest(printed.map(({ origin }) => origin));
  const free = Math.max(20, (columns ?? Number.POSITIVE_INFINITY) - setting - 4);
  if (value + origin <= free) return { setting, value, origin };
  const shortest = Math.floor(free / 2);
  const valueWidth = Math.max(Math.min(value, shortest), free - origin);
  return { setting, value: valueWidth, origin: free - valueWidth };
}

/** A text of at most `width` characters. */
function shortened(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
