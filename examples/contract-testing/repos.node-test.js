// Run it: node --test repos.node-test.js
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startPlatform } from "platform-api/testing";
import { repoNames } from "./repos.js";

let platform;
before(async () => {
  platform = await startPlatform({ seed: new URL("seed.yaml", import.meta.url).pathname, uidSeed: 1 });
});
after(() => platform.stop());

test("the names of repos", async () => {
  assert.deepEqual(await repoNames(platform), ["nginx"]);
});

test("a server that stays unavailable", async () => {
  await assert.rejects(repoNames(platform, { "x-platform-fault": "code=UNAVAILABLE" }), /Unavailable/);
});
