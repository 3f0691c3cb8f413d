/** Servers that start at the same time on an empty database: one makes the tables and the installation for all. */
import { expect, test } from "vitest";
import { campaign } from "../campaign.ts";
import { startPlatformForTest } from "../cli/platform-process.ts";
import { runHere } from "../cli/run-here.ts";
import { onEveryEmptyDatabase } from "../databases/databases.ts";

const servers = 4;
const rounds = Array.from({ length: campaign({ short: 2, full: 4 }) }, (_, i) => i + 1);

onEveryEmptyDatabase("four servers at once", (database) => {
  test.each(rounds)("all serve, round %i", { timeout: 120_000 }, async () => {
    const on = ["--database", database().url];
    const serve = [...on, "--listen", "127.0.0.1:0", "--base-url", "http://127.0.0.1"];
    const running = await Promise.all(Array.from({ length: servers }, () => startPlatformForTest(serve)));
    const token = (await runHere(["token", ...on])).stdout.trim();
    const groups = await Promise.all(
      running.map(async ({ baseUrl }) => {
        const answer = await fetch(`${baseUrl}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } });
        return answer.text();
      }),
    );
    expect(JSON.parse(groups[0]!).groups).toHaveLength(1);
    expect(new Set(groups).size).toBe(1);
    const ended = await Promise.all(running.map((server) => server.end("SIGTERM")));
    expect(ended).toEqual(running.map(() => 0));
  });
});
