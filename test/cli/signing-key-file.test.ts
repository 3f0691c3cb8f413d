/** Signing keys from a file instead of the database. */
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../../src/app/index.ts";
import { parseGivenKeys } from "../../src/auth/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { createLogger } from "../../src/log.ts";
import { settingsIn, temporaryFolder } from "./platform-process.ts";
import { runHere } from "./run-here.ts";

const pemOf = (namedCurve = "P-256") =>
  generateKeyPairSync("ec", { namedCurve }).privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const [first, second] = [pemOf(), pemOf()];
const kidOf = async (text: string) => (await parseGivenKeys(text))[0]!.kid;

/** A folder with a file of keys, and a database. */
async function place(...keys: string[]) {
  const folder = await temporaryFolder();
  const file = join(folder, "signing.pem");
  await writeFile(file, keys.join(""), { mode: 0o600 });
  return { file, settings: settingsIn(folder).database };
}

async function serve([, database]: string[], signingKey: string) {
  const flags = { listen: "127.0.0.1:0", database: database!, signingKey, issuer: "http://127.0.0.1:8080" };
  const server = await startServer(readConfig({ flags, env: {}, warn: () => {} }), createLogger("silent"));
  onTestFinished(() => server.stop());
  const status = async (token: string) =>
    (await fetch(`${server.baseUrl}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } })).status;
  const kids = async () => {
    const set = (await (await fetch(`${server.baseUrl}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] };
    return set.keys.map(({ kid }) => kid);
  };
  return { ...server, status, kids };
}

test("PEM and JSON Web Keys are read alike", async () => {
  const [jwk] = (await parseGivenKeys(first)).map(({ privateJwk }) => privateJwk);
  const kids = async (text: string) => (await parseGivenKeys(text)).map(({ kid }) => kid);
  const sec1 = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" });
  expect(await kids(JSON.stringify(jwk))).toEqual(await kids(first));
  expect(await kids(JSON.stringify({ keys: [jwk] }))).toEqual(await kids(first));
  expect(await kids(`comment\n${first}\n${sec1}`)).toHaveLength(2);
  for (const [text, message] of [
    ["", "has no private key in PEM, nor a JSON Web Key"],
    ["{", "is not JSON"],
    ['{"kty":"EC"}', "has a key that is not a valid private key"],
    [pemOf("P-384"), "has a key that is not on the curve P-256"],
    [first + first, `has the key ${await kidOf(first)} twice`],
    [first.replace("MIG", "AAA"), "has a key that is not a valid private key"],
  ] as const)
    await expect(parseGivenKeys(text)).rejects.toThrow(message);
});

test("the first signs, the others verify, and the database has none", async () => {
  const { file, settings } = await place(first, second);
  const given = ["--signing-key", file];
  expect((await runHere(["init", ...settings, ...given, "--issuer", "http://127.0.0.1:8080"])).code).toBe(0);
  const listed = await runHere(["keys", "list", "--json", ...settings, ...given]);
  const rows = listed.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows).toEqual([
    { kid: await kidOf(first), state: "signing", source: "file" },
    { kid: await kidOf(second), state: "verifying", source: "file" },
  ]);
  expect(await runHere(["keys", "list", ...settings])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("error: the database has no signing key: set --signing-key as before"),
  });
  expect((await runHere(["keys", "rotate", ...settings, ...given])).code).toBe(1);
  const token = (await runHere(["token", ...settings, ...given])).stdout.trim();
  expect(decodeProtectedHeader(token).kid).toBe(await kidOf(first));
  const ofSecond = (await runHere(["token", ...settings], { env: { PLATFORM_SIGNING_KEY: second } })).stdout.trim();
  const server = await serve(settings, file);
  expect([await server.status(token), await server.status(ofSecond)]).toEqual([200, 200]);

  // The file is read again when a token names a key that is unknown.
  const third = pemOf();
  await writeFile(file, third + first);
  const ofThird = (await runHere(["token", ...settings, ...given])).stdout.trim();
  await expect.poll(() => server.status(ofThird)).toBe(200);
  expect([await server.status(token), await server.status(ofSecond)]).toEqual([200, 401]);

  // A file that cannot be read leaves the keys as they were.
  await writeFile(file, "nothing");
  const revoked = await runHere(["keys", "revoke", await kidOf(third), ...settings, "--signing-key", third + first]);
  expect(revoked.stdout).toContain(`${await kidOf(first)} signs now`);
  expect([await server.status(ofThird), await server.status(token)]).toEqual([401, 200]);
  expect(await server.kids()).toEqual([await kidOf(first)]);

  // Nor does a start accept a revoked key.
  await writeFile(file, third);
  const start = serve(settings, file);
  await expect(start).rejects.toThrow(`--signing-key: every key of ${file} is revoked; put a new one into it`);
});

test("keys of the database verify beside those of a file, until they are revoked", async () => {
  const { file, settings } = await place(first);
  expect((await runHere(["init", ...settings, "--issuer", "http://127.0.0.1:8080"])).code).toBe(0);
  const token = (await runHere(["token", ...settings])).stdout.trim();
  const server = await serve(settings, file);
  expect(await server.status(token)).toBe(200);
  const { kid } = decodeProtectedHeader(token);
  const { stdout } = await runHere(["keys", "revoke", kid!, ...settings, "--signing-key", file]);
  expect(stdout.split("\n")).toEqual([
    `${await kidOf(first)}  signing    file`,
    `${kid}  revoked`,
    `${kid} is revoked: no server accepts its tokens any more`,
    "",
  ]);
  expect([await server.status(token), await server.kids()]).toEqual([401, [await kidOf(first)]]);
});

test("a key whose name begins with a hyphen is revoked like any other", async () => {
  const { settings } = await place();
  await runHere(["init", ...settings]);
  for (const kid of ["-9BK6DIqJ1", "-hBK6DIqJ1", "--9BK6DIqJ1"]) {
    const { code, stderr } = await runHere(["keys", "revoke", kid, ...settings]);
    expect([code, stderr]).toEqual([1, `error: there is no key ${kid}; \`platform keys list\` prints the keys\n`]);
  }
  expect((await runHere(["keys", "revoke", "a", "--jsn", ...settings])).code).toBe(2);
});

test("a wrong file is explained", async () => {
  const { settings } = await place();
  await runHere(["init", ...settings]);
  expect((await runHere(["token", ...settings, "--signing-key", "/nowhere"])).stderr).toBe(
    "error: --signing-key: /nowhere cannot be read: ENOENT: no such file or directory, open '/nowhere'\n",
  );
  const secret = pemOf("P-384");
  const { stderr } = await runHere(["token", ...settings], { env: { PLATFORM_SIGNING_KEY: secret } });
  expect(stderr).toBe("error: --signing-key: its content has a key that is not on the curve P-256\n");
});
