/**
 * The promises of findings: after random changes of feeds, images, lists of packages and tags, every answer of two
 * servers on one database is what a second, plain implementation computes from what was told; and callers who see a
 * part of the images see exactly that part.
 */
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningServer, startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { type Database, openDatabase } from "../../src/store/index.ts";
import { campaign } from "../campaign.ts";
import { methodNamed } from "./contract.ts";
import { type Ask, questionsOf } from "./findings/questions.ts";
import { FindingsWorld } from "./findings/worlds.ts";
import type { Outcome } from "./outcome.ts";
import { codes } from "./outcome.ts";
import { onEveryServer } from "./platform.ts";
import { callOverRest } from "./rest-client.ts";

const worlds = Number(process.env.TEST_FINDINGS ?? campaign({ short: 3, full: 40 }));
const firstSeed = Number(process.env.TEST_FINDINGS_SEED ?? Math.floor(Math.random() * 1e6));
const portions = 8;

onEveryServer("findings of two servers", (platform) => {
  let second: RunningServer;
  let database: Database;
  const errors: string[] = [];

  beforeAll(async () => {
    const log = pino({ level: "error", base: null }, { write: (line: string) => void errors.push(line) });
    const flags = { listen: "127.0.0.1:0", adminListen: "off", database: platform().databaseUrl, logLevel: "error" };
    second = await startServer(readConfig({ flags, env: {}, warn: () => {} }), log);
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
      if (outcome.status.code === codes.NOT_FOUND || outcome.status.code === codes.PERMISSION_DENIED) return undefined;
      throw new Error(`${method}: ${JSON.stringify(outcome.status)}`);
    };
    return [
      async (method, request) => answerOf(await platform().call(method, request, { as: token }), method),
      async (method, request) =>
        answerOf(await callOverRest(second.baseUrl, methodNamed(method), request, authorization), method),
    ];
  }

  test(`are those of the model in ${worlds} random worlds`, { timeout: 60_000 + worlds * 20_000 }, async () => {
    let asked = 0;
    for (let seed = firstSeed; seed < firstSeed + worlds; seed++) {
      const world = await FindingsWorld.create(platform(), database, seed);
      for (let portion = 0; portion < portions; portion++) {
        await world.change(6);
        const questions = [
          { token: platform().admin, groups: world.groups },
          { token: world.member, groups: world.groups.slice(0, 1) },
        ].flatMap(({ token, groups }) =>
          questionsOf(world, { groups }).flatMap((question) =>
            servers(token).map((ask, server) => ({ question, ask, server })),
          ),
        );
        const answers = await Promise.all(questions.map(({ question, ask }) => question.ask(ask)));
        for (const [i, { question, server }] of questions.entries()) {
          asked++;
          const about = `seed ${seed}, portion ${portion}, server ${server}: ${question.text}`;
          if (process.env.TEST_FINDINGS_TRACE !== undefined) {
            try {
              expect(answers[i], about).toEqual(question.expected);
            } catch (e) {
              console.log(world.history.join("\n"));
              throw e;
            }
          }
          expect(answers[i], about).toEqual(question.expected);
        }
      }
    }
    console.log(`findings: ${asked} answers in ${worlds} worlds from seed ${firstSeed} are those of the model`);
  });
});
