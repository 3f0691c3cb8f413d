/**
 * The findings of a component whose files belong to a package of a distribution, as those of a Python library do that
 * the distribution has packaged. What is said of that package about a vulnerability counts in place of what is said of
 * the component: else an image would show each vulnerability twice, and those, too, that the distribution has fixed.
 */
import { isOpen } from "../../../matching/index.ts";
import type { StoredComponent } from "../../matches/components.ts";
import type { Resolved } from "./resolved.ts";

/** A component that was loaded, and its findings as if nothing owned its files. */
interface ComponentFindings {
  readonly component: StoredComponent;
  readonly findings: readonly Resolved[];
}

/**
 * Those that the component has in images where `owner` owns its files. What is open in the owner is a finding of the
 * owner there, and not of the component.
 */
export function ownedFindings(
  { component, findings }: ComponentFindings,
  owner: ComponentFindings,
): readonly Resolved[] {
  const ofOwner = new Map(owner.findings.map((finding) => [finding.vulnerability.uid, finding]));
  const found = findings.flatMap((finding) => {
    const said = ofOwner.get(finding.vulnerability.uid);
    if (said === undefined || !isOpen(finding) || !isAbout(said, component)) return [finding];
    return isOpen(said) ? [] : [closedBy(said, finding, owner.component)];
  });
  return found.length === findings.length && found.every((finding, i) => finding === findings[i]) ? findings : found;
}

function closedBy(said: Resolved, finding: Resolved, { purl }: StoredComponent): Resolved {
  const ofOwner = said.statements.map(({ match, reason }) => ({
    match,
    reason: `about ${purl}, which owns the files: ${reason}`,
  }));
  return { ...said, statements: [...ofOwner, ...finding.statements] };
}

/** Whether a finding of the owner is about the component: about all of the package, or about a part with its name. */
function isAbout({ statements }: Resolved, { namespace, name }: StoredComponent): boolean {
  const names = [name, `${namespace}/${name}`, `${namespace}:${name}`].map(comparableName);
  return statements.some(
    ({ match: { parts = [] } }) => parts.length === 0 || parts.some((part) => names.includes(comparableName(part))),
  );
}

/** Scanners write names of Python packages as their authors do: `Jinja2`, `ruamel.yaml`. */
function comparableName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, "-");
}
