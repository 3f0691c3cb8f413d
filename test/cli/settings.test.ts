import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { settingsOf, withSettings } from "../../src/cli/settings.ts";
import { type Config, flagOf, settings } from "../../src/config/index.ts";

const switches = (Object.keys(settings) as (keyof Config)[]).filter((key) => settings[key].placeholder === undefined);

describe("a setting without a value", () => {
  it.each(switches)("%s is off, and on with its flag", (key) => {
    const read = (...flags: string[]) => {
      let config: Config | undefined;
      const command = withSettings(new Command("serve")).action((_options, self: Command) => {
        config = settingsOf(self);
      });
      command.parse(flags, { from: "user" });
      return config?.[key];
    };
    expect(read()).toBe(false);
    expect(read(flagOf(key))).toBe(true);
  });
});
