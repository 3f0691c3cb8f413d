import { type Contract, singularOf, title } from "./contract.ts";
import { shortUid } from "./copy.tsx";

/** What a page is called in tabs and in the history of the browser. @param pathname below `/console`. */
export function pageTitle(pathname: string, { byPlural }: Contract): string {
  const [, page = "", plural = "", ...segments] = pathname.split("/");
  const entry = byPlural.get(plural);
  const uid = shortUid(segments.join("/"));
  const own: Record<string, string | undefined> = {
    tree: "Group tree",
    list: entry && title(entry.plural),
    view: entry && `${title(entry.singular)} ${uid}`,
    create: entry && `Create ${singularOf(entry)}`,
    edit: entry && `Edit ${singularOf(entry)} ${uid}`,
  };
  return own[page] === undefined ? "Platform API" : `${own[page]} · Platform API`;
}
