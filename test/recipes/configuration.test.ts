/** The tables of settings in the documentation are those of the program. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Config, flagOf, settings } from "../../src/config/index.ts";
import { defaultQuotas } from "../../src/quotas.ts";
import { repository } from "../cli/platform-process.ts";

const page = readFileSync(join(repository, "docs/configuration.md"), "utf8");

test("the table of reloadable settings is that of the program", () => {
  const rows = page.slice(page.indexOf("## Reloading")).match(/^\| `--.*$/gm) ?? [];
  const documented = rows.flatMap((row) => [...row.split("|")[1]!.matchAll(/`(--[\w-]+)`/g)].map(([, flag]) => flag!));
  const names = Object.keys(settings) as (keyof Config)[];
  const reloadable = names.filter((name) => settings[name].isReloadable !== undefined).map(flagOf);
  expect(documented.sort()).toEqual(reloadable.sort());
});

test("the table of quotas has every one whose default is not that of any other kind", () => {
  const limits = readFileSync(join(repository, "docs/limits.md"), "utf8");
  const rows = limits.slice(limits.indexOf("## Quotas")).matchAll(/^\| `(\w+)` \| [^|]+ \| ([\d,]+) \|$/gm);
  const documented = [...rows].map(([, name, limit]) => [name, Number(limit!.replaceAll(",", ""))]);
  expect(limits).toContain("Any other resource below a group has a quota of 100,000");
  const others = Object.entries(defaultQuotas).filter(([, limit]) => limit === 100_000);
  expect({ ...Object.fromEntries(others), ...Object.fromEntries(documented) }).toEqual(defaultQuotas);
});
