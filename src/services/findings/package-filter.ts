/** Filters by package: by package URL, name and type. */
import { invalid } from "../../errors.ts";
import { componentOf, packageKey, packageKeyOfUrl } from "../../matching/index.ts";
import type { StoredComponent } from "../matches/components.ts";

/** The filters of a request. */
interface PackageFilters {
  readonly purls: readonly string[];
  readonly packageNames: readonly string[];
  readonly types: readonly string[];
}

/**
 * Whether a component is one of those that a request asks for; undefined when it asks for all. Errors: INVALID_ARGUMENT
 * for what is not a package URL.
 */
export function wantedPackages({ purls, packageNames, types }: PackageFilters) {
  if (purls.length + packageNames.length + types.length === 0) return undefined;
  const exact = new Set<string>();
  const keys = new Set<string>();
  for (const [i, purl] of purls.entries()) {
    if (purl === "") continue; // it matches nothing
    const component = componentOf(purl);
    const key = typeof component === "string" ? packageKeyOfUrl(purl) : undefined;
    if (typeof component !== "string") exact.add(component.purl);
    else if (key !== undefined) keys.add(key);
    else throw invalid({ field: `purls[${i}]`, description: component });
  }
  const names = new Set(packageNames);
  const ofTypes = new Set(types);
  return (component: StoredComponent): boolean =>
    (purls.length === 0 || exact.has(component.purl) || keys.has(packageKey(component))) &&
    (names.size === 0 || names.has(component.name)) &&
    (ofTypes.size === 0 || ofTypes.has(component.type));
}
