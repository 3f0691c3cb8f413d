/** What the builder of the image is given of the repository: the files that `.dockerignore` leaves. */
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../cli/platform-process.ts";

/** A line of `.dockerignore`. */
interface Pattern {
  readonly isNegated: boolean;
  readonly regex: RegExp;
}

/** Reads the patterns of a `.dockerignore`, as moby/patternmatcher does; without classes in brackets. */
export function readPatterns(text: string): readonly Pattern[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const glob = line
        .trim()
        .replace(/^!/, "")
        .replace(/^\/|\/$/g, "");
      const parts = glob.match(/\*\*\/?|[^*]+|\*/g)!.map((part) => {
        if (part.startsWith("**")) return part === "**" ? ".*" : "(?:.*/)?";
        return part === "*" ? "[^/]*" : part.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("?", "[^/]");
      });
      return { isNegated: line.startsWith("!"), regex: new RegExp(`^${parts.join("")}$`) };
    });
}

/** Whether a file is sent: the last pattern decides that matches it or a folder that it is in. */
export function isSent(path: string, patterns: readonly Pattern[]): boolean {
  const names = path.split("/");
  const paths = names.map((_, i) => names.slice(0, i + 1).join("/"));
  return patterns.findLast(({ regex }) => paths.some((each) => regex.test(each)))?.isNegated ?? true;
}

/** Folders that a fresh checkout does not have. */
const notInCheckout: ReadonlySet<string> = new Set(["node_modules", ".git", ".proto-deps", "dist", "data"]);

/** Paths of the files that are sent from a fresh checkout. */
export function contextFiles(): readonly string[] {
  const patterns = readPatterns(readFileSync(join(repository, ".dockerignore"), "utf8"));
  return readdirSync(repository, { withFileTypes: true })
    .filter(({ name }) => !notInCheckout.has(name))
    .flatMap((entry) => {
      if (!entry.isDirectory()) return [entry.name];
      return readdirSync(join(repository, entry.name), { recursive: true, withFileTypes: true })
        .filter((inner) => inner.isFile())
        .map(({ parentPath, name }) => join(parentPath, name).slice(repository.length));
    })
    .filter((path) => isSent(path, patterns));
}

/** Copies what is sent to an empty folder. */
export function copyContext(folder: string): void {
  for (const path of contextFiles()) cpSync(join(repository, path), join(folder, path), { recursive: true });
}
