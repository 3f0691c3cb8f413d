/** What a next release has in place of the sources: one more column for repos. */

/** The end of a module's path, a text in it, and what stands there in the next release. */
const changes: readonly (readonly [end: string, before: string, after: string])[] = [
  [
    "/src/store/migrations/index.ts",
    'import { all } from "./all.ts";',
    `import { nextRelease } from "${new URL("./release.ts", import.meta.url)}"; import { all } from "./all.ts";`,
  ],
  ["/src/store/migrations/index.ts", "...all], finish: [] }];", "...all], finish: [] }, nextRelease];"],
  [
    "/src/services/registry/repos.ts",
    "columns: { name: { text: (repo) => repo.name } }",
    "columns: { name: { text: (repo) => repo.name }, shade: { text: (repo) => repo.name.concat(' shade') } }",
  ],
];

/** The source of a module in the next release; undefined if it is the same. Errors: what it replaces is not there. */
export function changedSource(path: string, source: () => string): string | undefined {
  const ofModule = changes.filter(([end]) => path.endsWith(end));
  if (ofModule.length === 0) return undefined;
  return ofModule.reduce((text, [, before, after]) => {
    if (!text.includes(before)) throw new Error(`the next release does not fit: ${path} has no ${before}`);
    return text.replace(before, () => after);
  }, source());
}
