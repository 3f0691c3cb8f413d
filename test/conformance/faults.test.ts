/** Faults that clients ask a stand-in for, by header, over every protocol. */
import { describe, expect, test } from "vitest";
import { codes } from "./outcome.ts";
import { onOneServer, protocols } from "./platform.ts";

const list = "ListRepos";
const header = (fault: string) => ({ "x-platform-fault": fault });

onOneServer(
  "faults",
  (platform) => {
    describe.each(protocols)("over %s", (over) => {
      test("without the header there is none", async () => {
        await platform().ok(list, {}, { over });
      });

      test("an error of any code", async () => {
        for (const code of ["UNAVAILABLE", "CANCELLED", "RESOURCE_EXHAUSTED"] as const) {
          const outcome = await platform().call(list, {}, { over, headers: header(`code=${code}`) });
          expect(outcome).toMatchObject({
            ok: false,
            status: { code: codes[code], message: expect.stringContaining("asked for") },
          });
        }
      });

      test("an answer that comes late, but is complete", async () => {
        const started = performance.now();
        await platform().ok(list, {}, { over, headers: header("latency=300ms") });
        expect(performance.now() - started).toBeGreaterThanOrEqual(299);
      });

      test("latency before an error", async () => {
        const headers = header("latency=1s; code=INTERNAL");
        const outcome = await platform().call(list, {}, { over, headers, timeoutMs: 100 });
        expect(outcome).toMatchObject({ ok: false });
      });

      test.each(["drop", "disconnect-after=3"])("%s: no complete answer", async (fault) => {
        const outcome = await platform()
          .call("GetGroup", { uid: platform().root }, { over, headers: header(fault) })
          .catch((error: Error) => ({ ok: false, error }));
        expect(outcome.ok).toBe(false);
        await platform().ok(list, {}, { over });
      });

      test("an answer that is shorter than the limit is complete", async () => {
        await platform().ok(list, {}, { over, headers: header("disconnect-after=1000000") });
      });

      test("a fault that does not exist is refused, with those that do", async () => {
        const outcome = await platform().call(list, {}, { over, headers: header("slow") });
        expect(outcome).toMatchObject({
          ok: false,
          status: {
            code: codes.INVALID_ARGUMENT,
            message: expect.stringContaining('"slow" is none of latency=200ms, code='),
          },
        });
      });
    });

    test("a request with a body is answered after its latency", async () => {
      const group = await platform().ok(
        "CreateGroup",
        { parent: platform().root, group: { name: "late" } },
        { headers: header("latency=10ms") },
      );
      expect(group).toMatchObject({ name: "late" });
    });

    test("the first bytes of an answer that breaks off arrive", async () => {
      const response = await platform().fetch("/registry/v2/repos", { headers: header("disconnect-after=5") });
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow("terminated");
    });
  },
  { ephemeral: true },
);

/** What a page of another origin that may call may send. */
async function allowedHeaders(fetch: (path: string, init: RequestInit) => Promise<Response>): Promise<string> {
  const headers = { origin: "https://app.example.com", "access-control-request-method": "GET" };
  const response = await fetch("/registry/v2/repos", { method: "OPTIONS", headers });
  return response.headers.get("access-control-allow-headers")!;
}

onOneServer(
  "a page of another origin",
  (platform) => {
    test("may ask for faults, and reads the error", async () => {
      expect(await allowedHeaders(platform().fetch)).toMatch(/, X-Platform-Fault$/);
      const headers = { ...header("code=UNAVAILABLE"), origin: "https://app.example.com" };
      const response = await platform().fetch("/registry/v2/repos", { headers });
      expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([503, headers.origin]);
    });
  },
  { ephemeral: true, corsOrigins: ["https://app.example.com"] },
);

onOneServer(
  "a page of another origin, at a server that is not a stand-in",
  (platform) => {
    test("may not ask for faults", async () => {
      expect(await allowedHeaders(platform().fetch)).toMatch(/, X-Server-Timeout$/);
    });
  },
  { corsOrigins: ["https://app.example.com"] },
);

onOneServer("a server that is not a stand-in", (platform) => {
  test.each(protocols)("ignores the header over %s", async (over) => {
    await platform().ok(list, {}, { over, headers: header("code=UNAVAILABLE; drop") });
    await platform().ok(list, {}, { over, headers: header("nonsense") });
  });
});
