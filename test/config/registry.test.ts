import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigError, readConfig } from "../../src/config/index.ts";

const folder = mkdtempSync(join(tmpdir(), "platform-config-registry-"));
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(content: string): string {
  const path = join(folder, `${Math.random()}`);
  writeFileSync(path, content);
  return path;
}

function read(flags: Parameters<typeof readConfig>[0]["flags"]) {
  return readConfig({ flags, env: {}, warn: (message) => expect.fail(message) });
}

const registryUrl = "https://registry.example.com/";
const registryGroup = "0a".repeat(20);

test("a registry is an address, a group, and files with its secret and its credentials", () => {
  const registrySecret = fileOf("sixteen-or-longer\n");
  const registryCredentials = fileOf("reader:pass:word\r\n");
  expect(read({ registryUrl, registryGroup, registrySecret, registryCredentials })).toMatchObject({
    registryUrl: "https://registry.example.com",
    registryGroup,
    registrySecret: "sixteen-or-longer",
    registryCredentials: { username: "reader", password: "pass:word" },
  });
  expect(read({ registryCredentials })).toMatchObject({ registryUrl: undefined, registrySecret: undefined });
});

test.each([
  ["without a secret", { registryUrl, registryGroup }],
  ["without a group", { registryUrl, registrySecret: fileOf("sixteen-or-longer") }],
  ["with a secret alone", { registrySecret: fileOf("sixteen-or-longer") }],
  [
    "with a group that is not a uid",
    { registryUrl, registryGroup: "root", registrySecret: fileOf("sixteen-or-longer") },
  ],
  ["with a secret in place of its file", { registryUrl, registryGroup, registrySecret: "sixteen-or-longer" }],
  ["with a short secret", { registryUrl, registryGroup, registrySecret: fileOf("short-5ecre7") }],
  [
    "with a secret that no header can hold",
    { registryUrl, registryGroup, registrySecret: fileOf("5ecre7 with\nlines 16") },
  ],
  ["with credentials that are none", { registryCredentials: fileOf("5ecre7") }],
])("%s it is refused, and no secret is repeated", (_, flags) => {
  expect(() => read(flags)).toThrow(ConfigError);
  expect(() => read(flags)).toThrow(/^(?!.*5ecre7)/);
});
