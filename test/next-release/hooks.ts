/**
 * Makes the sources those of a next release, which has one more column for repos. Loaded by `node --import` before the
 * program: it changes the modules while they are loaded.
 */
import { registerHooks } from "node:module";

/** By the end of a module's URL: a text in it, and what stands there in the next release. */
const changes: Readonly<Record<string, readonly [string, string]>> = {
  "/src/store/migrations/index.ts": [
    "[{ steps: [...firstTables, ...all], finish: [] }];",
    `[{ steps: [...firstTables, ...all], finish: [] }, (await import("${new URL("./release.ts", import.meta.url)}")).nextRelease];`,
  ],
  "/src/services/registry/repos.ts": [
    "columns: { name: { text: (repo) => repo.name } }",
    "columns: { name: { text: (repo) => repo.name }, shade: { text: (repo) => repo.name.concat(' shade') } }",
  ],
};

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const change = Object.entries(changes).find(([end]) => url.endsWith(end))?.[1];
    if (change === undefined) return loaded;
    const source = String(loaded.source);
    if (!source.includes(change[0])) throw new Error(`the next release does not fit: ${url} has no ${change[0]}`);
    return { ...loaded, source: source.replace(change[0], () => change[1]) };
  },
});
