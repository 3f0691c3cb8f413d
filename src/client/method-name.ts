/** The names of methods in clients. */

/** `list` for `listRoles` of `Roles`, `getReadme` for `getRepoReadme` of `Repos`. */
export function methodName(name: string, plural: string): string {
  const singular = plural.replace(/ies$/, "y").replace(/s$/, "");
  return name.replace(name.includes(plural) ? plural : singular, "");
}
