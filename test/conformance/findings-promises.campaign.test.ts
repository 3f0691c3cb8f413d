/**
 * The promises of findings: after random changes of feeds, images, lists of packages and tags, every answer of two
 * servers on one database is what a second, plain implementation computes from what was told; callers who may see a
 * part of the images see exactly that part; and an import that is killed leaves what it had stored, no more and no
 * less.
 *
 * `TEST_FINDINGS` is the number of worlds, `TEST_FINDINGS_SEED` the seed of the first.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type RunningServer, startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { type Database, openDatabase } from "../../src/store/index.ts";
import { campaign } from "../campaign.ts";
import { runPlatform, startCommand } from "../cli/platform-process.ts";
import { type Json, methodNamed } from "./contract.ts";
import type { Ask } from "./findings/answers.ts";
import { questionsOf } from "./findings/questions.ts";
import { FindingsWorld } from "./findings/worlds.ts";
import { codes, type Outcome } from "./outcome.ts";
import { onEveryServer } from "./platform.ts";
import { callOverRest } from "./rest-client.ts";

const worlds = Number(process.env.TEST_FINDINGS ?? campaign({ short: 1, full: 4 }));
const kills = campaign({ short: 1, full: 2 });
const firstSeed = Number(process.env.TEST_FINDINGS_SEED ?? Math.floor(Math.random() * 1e6));
/** The servers and the model share a process: calls wait for the model. */
const patience = { maxQueueDelay: 60_000 };

onEveryServer(
  "findings of two servers",
  (platform) => {
    let second: RunningServer;
    let database: Database;
    const errors: string[] = [];

    beforeAll(async () => {
      const log = pino({ level: "error", base: null }, { write: (line: string) => void errors.push(line) });
      const flags = { listen: "127.0.0.1:0", adminListen: "off", database: platform().databaseUrl, logLevel: "error" };
      second = await startServer({ ...readConfig({ flags, env: {}, warn: () => {} }), ...patience }, log);
      database = await openDatabase(platform().databaseUrl);
    });
    afterAll(async () => {
      await database?.close();
      await second?.stop();
      expect(errors).toEqual([]);
    });

    /** Both servers, for a caller. */
    function servers(token: string): Ask[] {
      const authorization = { authorization: `Bearer ${token}` };
      const answerOf = (outcome: Outcome, method: string) => {
        if (outcome.ok) return outcome.message;
        const { code } = outcome.status;
        if (code === codes.NOT_FOUND || code === codes.PERMISSION_DENIED) return undefined;
        throw new Error(`${method}: ${JSON.stringify(outcome.status)}`);
      };
      return [
        async (method, request) => answerOf(await platform().call(method, request, { as: token }), method),
        async (method, request) =>
          answerOf(await callOverRest(second.baseUrl, methodNamed(method), request, authorization), method),
      ];
    }

    /** Asks both servers everything at once, as the administrator and as the member. Returns the number of answers. */
    async function expectModel(world: FindingsWorld, when: string): Promise<number> {
      const callers = [
        { token: platform().admin, groups: world.groups },
        { token: world.member, groups: world.groups.slice(0, 1) },
      ];
      const asked = callers.flatMap(({ token, groups }) =>
        questionsOf(world, groups).flatMap((question) =>
          servers(token).map((ask, server) => ({ question, ask, server })),
        ),
      );
      const answers = await Promise.all(asked.map(({ question, ask }) => question.ask(ask)));
      for (const [i, { question, server }] of asked.entries())
        expect(answers[i], `${when}, server ${server}: ${question.text}`).toEqual(question.expected);
      return answers.length;
    }

    test(`are those of the model in ${worlds} random worlds`, { timeout: 120_000 + worlds * 60_000 }, async () => {
      let answers = 0;
      for (let seed = firstSeed; seed < firstSeed + worlds; seed++) {
        const world = await FindingsWorld.create(platform(), database, seed);
        for (const [portion, changes] of [25, 5, 5, 5, 5, 5].entries()) {
          await world.change(changes);
          answers += await expectModel(world, `seed ${seed}, portion ${portion}`);
        }
      }
      console.log(`findings: ${answers} answers in ${worlds} worlds from seed ${firstSeed} are those of the model`);
    });

    test(`are whole after ${kills} imports were killed`, { timeout: 120_000 + kills * 60_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), "platform-findings-"));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const file = join(folder, "records.jsonl");
      const stored: number[] = [];
      for (let kill = 0; kill < kills; kill++) {
        const seed = firstSeed + kill;
        const world = await FindingsWorld.create(platform(), database, seed, { isTangled: true });
        await world.change(25);
        const records = world.newRecords(200);
        await writeFile(file, records.map(({ osv }) => JSON.stringify(osv)).join("\n"));
        const command = ["import", "osv", file, "--feed", records[0]!.feed, "--database", platform().databaseUrl];
        const importing = startCommand(command);
        const known = async () => {
          const ids = records.map(({ id }) => id);
          const uids: Json[] = [];
          for (let pageToken = ""; ; ) {
            const page = await platform().ok("ListVulnerabilities", { ids, pageSize: 200, pageToken });
            uids.push(...page.vulnerabilities);
            if (page.nextPageToken === undefined) return uids;
            pageToken = page.nextPageToken;
          }
        };
        const hasEnded = importing.ended.then(() => true);
        const least = 1 + world.random.below(records.length);
        while ((await known()).length < least && !(await Promise.race([hasEnded, sleep(5, false)])));
        await importing.end("SIGKILL");
        const ids = new Set((await known()).flatMap((each) => each.records.map(({ id }: Json) => id)));
        const before = records.filter(({ id }) => ids.has(id));
        stored.push(before.length);
        world.tell(before);
        await expectModel(world, `seed ${seed}, after the kill`);
        const { code, stderr } = await runPlatform(command);
        expect(code, stderr).toBe(0);
        world.tell(records);
        await expectModel(world, `seed ${seed}, after the import`);
      }
      console.log(`findings: killed imports had stored ${stored} of 200 records`);
    });
  },
  patience,
);
