/** What an overloaded server refuses can be repeated; what it has accepted is done. */
import { expect, test } from "vitest";
import { freshName, makeGroup } from "./fixtures.ts";
import { codes } from "./outcome.ts";
import { onEveryServer } from "./platform.ts";

onEveryServer(
  "a server with too many calls under way",
  (platform) => {
    test.each(["rest", "grpc", "connect"] as const)("refuses some over %s, and does the others", async (over) => {
      const { uid } = await makeGroup(platform(), platform().root);
      const names = Array.from({ length: 30 }, freshName);
      const outcomes = await Promise.all(
        names.map((name) => platform().call("CreateRepo", { parent: uid, repo: { name } }, { over })),
      );
      const refused = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.status]));
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.length).toBeLessThan(names.length);
      for (const { code, message, details } of refused) {
        expect(code).toBe(codes.UNAVAILABLE);
        expect(message).toBe("Unavailable: the server is overloaded; try again");
        expect(details).toContainEqual(expect.objectContaining({ retryDelay: "1s" }));
      }
      const created = names.filter((_, i) => outcomes[i]!.ok).sort();
      const { repos } = await platform().ok("ListRepos", { uidp: { childrenOf: uid }, orderBy: "name" });
      expect(repos.map(({ name }: { name: string }) => name).sort()).toEqual(created);
    });
  },
  { maxCalls: 2 },
);
