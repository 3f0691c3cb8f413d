/**
 * Whatever other organisations store, nothing changes for A. For random worlds, see `principals/world.ts`, every
 * answer, record and event about A is the one of the same installation without the others, and the others learn nothing
 * of it.
 *
 * A user who is new to a provider of A names it for its first sign-in, where others accept the token too. Left out are
 * calls about A that depend on whether its caller has a user anywhere: `dependsOnOthers` in `principals/calls.ts`.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { campaign } from "../campaign.ts";
import "../databases/postgres.ts";
import { type EmptyDatabase, migratedPostgres, migratedSqlite } from "./databases.ts";
import { knownWorlds } from "./principals/known.ts";
import { tally } from "./principals/run.ts";
import { describeWorld, type World, worlds } from "./principals/world.ts";
import { type Failure, Worlds } from "./principals/worlds.ts";

/**
 * `TEST_PRINCIPALS` is the number of worlds, `TEST_PRINCIPALS_SEED` what they are made from: 25 worlds of each seed,
 * and the next seed is 25 more. So a number of worlds that is given can be run in parts. It prints how far it is, and
 * does not make worlds that fail smaller.
 */
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

  test(`are the same in ${count} random worlds`, { timeout: timeout + count * 10_000 }, async () => {
    const texts: string[] = [];
    // All of a number that is given, so that every kind of failure is seen.
    for (let begun = 0; begun < count && (given > 0 || texts.length === 0); begun += batch) {
      const numRuns = Math.min(batch, count - begun);
      const failures = await run.run(fc.sample(worlds, { seed: seed + begun, numRuns }));
      for (const failure of given > 0 ? failures : failures.slice(0, 1)) {
        const text = `seed ${seed + begun}: ${textOf(given > 0 ? failure : await run.smallest(failure))}`;
        texts.push(text);
        if (given > 0) console.log(text);
      }
      if (given > 0) console.log(progressText(begun + numRuns, seed + begun, texts.length));
    }
    expect(texts.join("\n\n")).toBe("");
    const succeeded = [...tally.succeeded.values()].reduce((sum, of) => sum + of, 0);
    expect(succeeded, "calls and exchanges of principals that were compared and succeeded").toBeGreaterThan(count);
  });
}

function progressText(worldsRun: number, lastSeed: number, failed: number): string {
  const { compared, unknown, signedInByName } = tally;
  const numbers = { worldsRun, lastSeed, failed, compared, unknown, signedInByName };
  return JSON.stringify({ ...numbers, excluded: Object.fromEntries(tally.excluded) });
}

describe("principals (sqlite)", () =>
  runsWorlds(given || campaign({ short: 10, full: 25 }), knownWorlds, migratedSqlite));

const postgres = inject("postgres");
if ("missing" in postgres) console.warn(`principals are not tested on PostgreSQL: ${postgres.missing}`);
describe.skipIf("missing" in postgres)("principals (postgresql)", () => {
  const url = "url" in postgres ? postgres.url : "";
  const some = new Map([...knownWorlds].filter(([{ rank }]) => rank === 0));
  runsWorlds(Math.ceil((given || campaign({ short: 10, full: 25 })) / 10), some, () => migratedPostgres(url));
});
