/** Signing keys rotate while servers run and tokens are used. */
import { decodeProtectedHeader } from "jose";
import { expect, test, vi } from "vitest";
import { readInstallation, rotateSigningKeys } from "../../src/app/index.ts";
import { keysAt, maxTokenLifeSeconds, publicationMs } from "../../src/auth/tokens/signing-keys.ts";
import { runCommand } from "../../src/cli/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { type Json, onEveryServer } from "./live-server.ts";

onEveryServer("signing keys", {}, (server) => {
  async function keys(...args: string[]) {
    const printed: string[] = [];
    const failures: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((text) => void printed.push(text));
    const error = vi.spyOn(console, "error").mockImplementation((text) => void failures.push(text));
    const status = await runCommand(["keys", ...args, "--database", server().databaseUrl]);
    log.mockRestore();
    error.mockRestore();
    return { status, printed, failures };
  }
  const listed = async (): Promise<Json[]> => (await keys("list", "--json")).printed.map((line) => JSON.parse(line));

  test("are listed, added and published; the old one signs until the new one is known everywhere", async () => {
    const { admin, administrator, another } = server();
    const [first] = await listed();
    expect(first).toMatchObject({ kid: decodeProtectedHeader(admin).kid, state: "signing" });
    const rotated = await keys("rotate", "--json");
    expect([rotated.status, rotated.failures]).toEqual([0, []]);
    const [added, old, ...others] = await listed();
    expect(others).toEqual([]);
    expect([added.state, old.state, old.kid]).toEqual(["published", "signing", first.kid]);
    expect(Date.parse(old.retireTime) - Date.parse(added.signTime)).toBe(maxTokenLifeSeconds * 1000);
    expect((await keys("list")).printed[0]).toContain(added.kid);

    const running = await another();
    const jwks = await (await fetch(`${running.baseUrl}/.well-known/jwks.json`)).json();
    expect((jwks as Json).keys.map(({ kid }: Json) => kid)).toEqual([added.kid, old.kid]);
    const token = await running.mintToken(administrator, 60);
    expect(decodeProtectedHeader(token).kid).toBe(old.kid);
    for (const { baseUrl } of [running, server()]) {
      const response = await fetch(`${baseUrl}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } });
      expect(response.status).toBe(200);
    }
  });

  test("are not rotated while one waits", async () => {
    const { status, failures } = await keys("rotate");
    expect(status).toBe(1);
    expect(failures[0]).toMatch(/^error: the newest key signs only from /);
  });

  test("are revoked at once, on every server, and stay so", async () => {
    const { administrator, admin, running, another } = server();
    const other = await another();
    const first = decodeProtectedHeader(admin).kid!;
    const statuses = async (token: string, count: number) => {
      const urls = [running.baseUrl, other.baseUrl];
      const calls = Array.from({ length: count }, (_, i) =>
        fetch(`${urls[i % 2]}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } }),
      );
      const answers = await Promise.all(calls);
      await Promise.all(answers.map((answer) => answer.arrayBuffer()));
      return new Set(answers.map(({ status }) => status));
    };
    expect(await statuses(admin, 20)).toEqual(new Set([200]));
    const { status, printed } = await keys("revoke", first);
    expect(status).toBe(0);
    expect(printed.at(-1)).toMatch(/ signs now: /);
    expect(await statuses(admin, 200)).toEqual(new Set([401]));

    const successor = (await listed()).find(({ state }) => state === "signing")!;
    for (const { baseUrl, mintToken } of [running, other, await another()]) {
      const { keys } = (await (await fetch(`${baseUrl}/.well-known/jwks.json`)).json()) as Json;
      expect(keys.map(({ kid }: Json) => kid)).toEqual([successor.kid]);
      const token = await mintToken(administrator, 60);
      expect(decodeProtectedHeader(token).kid).toBe(successor.kid);
      expect(await statuses(token, 2)).toEqual(new Set([200]));
      const refused = await fetch(`${baseUrl}/iam/v2/groups`, { headers: { authorization: `Bearer ${admin}` } });
      expect(refused.status).toBe(401);
    }
    expect((await keys("revoke", first)).failures).toEqual([`error: the key ${first} is revoked already`]);
    expect((await keys("revoke", "other")).failures[0]).toMatch(/^error: there is no key other;/);
  });

  test("are replaced by a new one when the only one is revoked", async () => {
    const { kid } = (await listed()).find(({ state }) => state === "signing")!;
    expect((await keys("revoke", kid, "--json")).status).toBe(0);
    const successor = (await listed()).find(({ state }) => state === "signing")!;
    const token = await server().running.mintToken(server().administrator, 60);
    expect([decodeProtectedHeader(token).kid, successor.kid === kid]).toEqual([successor.kid, false]);
  });

  test("drop out once their last token has run out", async () => {
    const database = await openDatabase(server().databaseUrl);
    try {
      const before = (await readInstallation(database.read))!.signingKeys;
      const later = Date.now() + publicationMs + maxTokenLifeSeconds * 1000;
      const after = (await rotateSigningKeys(database, () => later)).signingKeys;
      expect(after).toHaveLength(2);
      expect(after[0]).toEqual(keysAt(before, later)[0]!.key);
      expect((await readInstallation(database.read))!.signingKeys).toEqual(after);
      await expect(rotateSigningKeys(database, () => later + publicationMs - 1)).rejects.toThrow("signs only from");
    } finally {
      await database.close();
    }
  });
});
