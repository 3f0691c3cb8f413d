/** A lock that another program holds for longer than a call waits: no conflict between callers, but UNAVAILABLE. */
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { expect, test } from "vitest";
import { onEveryServer, type Reply } from "./live-server.ts";

/** Locks repos, as a program other than the server would. On SQLite that locks out all writers. */
async function lock(url: string): Promise<() => Promise<void>> {
  if (url.startsWith("sqlite:")) {
    const file = new DatabaseSync(url.slice("sqlite:".length));
    file.exec("begin immediate");
    return async () => file.close();
  }
  const client = new pg.Client(url);
  await client.connect();
  await client.query("begin; lock table repos in access exclusive mode");
  return () => client.end();
}

function expectUnavailable({ status, headers, body }: Reply): void {
  expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
  expect(body).toMatchObject({ code: 14, details: [{ reason: "UNAVAILABLE" }, { retryDelay: "1s" }] });
}

onEveryServer("a lock of another program", {}, (server) => {
  test("makes what needs it UNAVAILABLE, and nothing else", async () => {
    const { call, root, databaseUrl, isSqlite } = server();
    const repo = (await call("POST", `/registry/v2/repos/${root}`, { name: "before" })).body.uid;
    const unlock = await lock(databaseUrl);
    try {
      const reads = [call("GET", `/registry/v2/repos/${repo}`), call("GET", "/registry/v2/repos")];
      const writes = [
        call("POST", `/registry/v2/repos/${root}`, { name: "new" }),
        call("PATCH", `/registry/v2/repos/${repo}`, { description: "changed" }),
        call("DELETE", `/registry/v2/repos/${repo}`),
      ];
      expect((await call("GET", "/iam/v2/groups")).status).toBe(200);
      for (const answer of await Promise.all(writes)) expectUnavailable(answer);
      for (const answer of await Promise.all(reads)) {
        if (isSqlite) expect(answer.status).toBe(200);
        else expectUnavailable(answer);
      }
      expect((await call("GET", "/readyz")).status).toBe(200);
    } finally {
      await unlock();
    }
    expect((await call("POST", `/registry/v2/repos/${root}`, { name: "new" })).status).toBe(200);
    expect((await call("DELETE", `/registry/v2/repos/${repo}`)).status).toBe(200);
  });
});
