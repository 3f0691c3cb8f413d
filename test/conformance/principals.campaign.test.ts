/**
 * Whatever other organisations store, nothing changes for A. For random worlds, see `principals/world.ts`, every answer,
 * record and event about A is the one of the same installation without the others, and the others learn nothing of it.
 *
 * Left out are first sign-ins that name no provider where several accept the token, and users that A has bound while
 * none of its providers accepts the token, which depend on who else lets them in. A token that one other provider alone
 * accepts may sign in there.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { campaign } from "../campaign.ts";
import "../databases/postgres.ts";
import { type EmptyDatabase, migratedPostgres, migratedSqlite } from "./databases.ts";
import { knownWorlds } from "./principals/known.ts";
import { successes } from "./principals/run.ts";
import { describeWorld, type World, worlds } from "./principals/world.ts";
import { type Failure, Worlds } from "./principals/worlds.ts";

/** `TEST_PRINCIPALS` is the number of worlds, `TEST_PRINCIPALS_SEED` what they are made from. */
const given = Number(process.env.TEST_PRINCIPALS ?? 0);
const seed = Number(process.env.TEST_PRINCIPALS_SEED ?? 1);
const batch = 25;
/** To make a world that fails smaller takes long. */
const timeout = 1_800_000;

function runsWorlds(count: number, known: ReadonlyMap<World, string>, create: () => Promise<EmptyDatabase>): void {
  let run: Worlds;
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2027, 0, 1) });
    run = new Worlds(create);
  });
  afterAll(async () => {
    await run.stop();
    vi.useRealTimers();
  });

  const textOf = ({ world, violation }: Failure) => `${violation.text}\nin the world\n${describeWorld(world)}`;

  test("are the same in known worlds", { timeout }, async () => {
    const failures = await run.run([...known.keys()]);
    expect(failures.map((failure) => `${known.get(failure.world)}\n${textOf(failure)}`).join("\n\n")).toBe("");
  });

  test(`are the same in ${count} random worlds`, { timeout: timeout + count * 2000 }, async () => {
    const kinds = new Map<string, Failure[]>();
    // All of a number that is given, so that every kind of failure is seen.
    for (let begun = 0; begun < count && (given > 0 || kinds.size === 0); begun += batch) {
      const numRuns = Math.min(batch, count - begun);
      for (const failure of await run.run(fc.sample(worlds, { seed: seed + begun, numRuns }))) {
        const { kind } = failure.violation;
        kinds.set(kind, [...(kinds.get(kind) ?? []), failure]);
      }
    }
    const texts: string[] = [];
    for (const failures of [...kinds.values()].sort((a, b) => b.length - a.length)) {
      const [first] = failures.sort((a, b) => a.world.steps.length - b.world.steps.length);
      texts.push(`${failures.length} worlds: ${textOf(await run.smallest(first!))}`);
    }
    expect(texts.join("\n\n")).toBe("");
    const succeeded = [...successes.values()].reduce((sum, of) => sum + of, 0);
    expect(succeeded, "calls and exchanges of principals that were compared and succeeded").toBeGreaterThan(count);
  });
}

describe("principals (sqlite)", () =>
  runsWorlds(given || campaign({ short: 10, full: 50 }), knownWorlds, migratedSqlite));

const postgres = inject("postgres");
if ("missing" in postgres) console.warn(`principals are not tested on PostgreSQL: ${postgres.missing}`);
describe.skipIf("missing" in postgres)("principals (postgresql)", () => {
  const url = "url" in postgres ? postgres.url : "";
  const some = new Map([...knownWorlds].filter(([{ rank }]) => rank === 0));
  runsWorlds(Math.ceil((given || campaign({ short: 10, full: 50 })) / 10), some, () => migratedPostgres(url));
});
