/** What the command palette offers. */
import type { Contract } from "../contract.ts";
import { singularOf, title } from "../contract.ts";

/** A page to go to. */
export interface Entry {
  readonly label: string;
  /** What it is: `Page`, `Repo`. */
  readonly kind: string;
  /** The path below `/console`. */
  readonly path: string;
}

/** The pages of the console: lists and forms of every resource, and the others. */
export function pageEntries({ domains }: Contract): readonly Entry[] {
  const resources = domains.flatMap((domain) => domain.resources);
  const page = (label: string, path: string): Entry => ({ label, kind: "Page", path });
  return [
    page("Home", "/"),
    page("Group tree", "/tree"),
    ...resources.map(({ plural }) => page(title(plural), `/list/${plural}`)),
    ...resources
      .filter(({ methods }) => methods.Create !== undefined)
      .map((entry): Entry => ({ label: `Create ${singularOf(entry)}`, kind: "Form", path: `/create/${entry.plural}` })),
  ];
}

/** The entries whose labels have every word that was typed; those that begin with the text come first. */
export function matching(entries: readonly Entry[], typed: string): readonly Entry[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const found = entries.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
  const isFirst = ({ label }: Entry) => label.toLowerCase().startsWith(text);
  return [...found.filter(isFirst), ...found.filter((entry) => !isFirst(entry))];
}
