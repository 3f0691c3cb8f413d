// Run it: npx vitest run
import { startPlatform } from "platform-api/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { repoNames } from "./repos.js";

let platform;
beforeAll(async () => {
  platform = await startPlatform({
    seed: new URL("seed.yaml", import.meta.url).pathname,
    clock: "2026-01-01T00:00:00Z",
    uidSeed: 1,
  });
});
afterAll(() => platform.stop());

test("the names of repos", async () => {
  expect(await repoNames(platform)).toEqual(["nginx"]);
});

test("a server that stays unavailable", async () => {
  await expect(repoNames(platform, { "x-platform-fault": "code=UNAVAILABLE" })).rejects.toThrow("Unavailable");
});
