/** Documents of files: YAML or JSON, several in one file, folders of them, or standard input. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { CommandFailure } from "../../command/index.ts";
import { isObject, type Written } from "./types.ts";

/** A document, and where it is. */
export interface SourceDocument {
  readonly value: Readonly<Record<string, unknown>>;
  /** `roles.yaml:12`: the file and the line where the document begins. */
  readonly place: string;
  readonly written: Written;
}

/** More aliases (`*name`) in one document are refused: a small document must not become a huge one. */
const maxAliases = 100;

/** Reads the documents of files and folders, in the order given; `-` is standard input. Errors: CommandFailure. */
export async function readDocuments(paths: readonly string[]): Promise<SourceDocument[]> {
  const documents: SourceDocument[] = [];
  for (const path of paths)
    for (const file of path === "-" ? ["-"] : await filesOf(path)) documents.push(...(await documentsOf(file)));
  if (documents.length === 0) throw new CommandFailure(`no document in ${paths.join(", ")}`, 2);
  return documents;
}

/** The documents of YAML or JSON text. A list is one document for each of its items. @param name of the file. */
export async function parseDocuments(source: string, name: string): Promise<SourceDocument[]> {
  const { CORE_SCHEMA, FAILSAFE_SCHEMA, constructFromEvents, parseEvents, YAMLException } = await import("js-yaml");
  try {
    const events = parseEvents(source, {});
    const values = constructFromEvents(events, { source, schema: CORE_SCHEMA, maxAliases });
    let texts: unknown[] | undefined; // only read for an error
    const written = (path: readonly (string | number)[]) => {
      texts ??= constructFromEvents(events, { source, schema: FAILSAFE_SCHEMA, maxAliases });
      return textAt(texts, path);
    };
    const begins = events.flatMap(({ type }, index) => (type === 1 ? [positionOf(events[index + 1])] : []));
    return values.flatMap((value, index) => {
      const place = `${name}:${lineOf(source, begins[index] ?? 0)}`;
      if (value === null || value === undefined) return [];
      if (!Array.isArray(value))
        return [{ value: mappingOf(value, place), place, written: (path) => written([index, ...path]) }];
      return value.map((item, position) => {
        const itemPlace = `${place}[${position}]`;
        const writtenOfItem: Written = (path) => written([index, position, ...path]);
        return { value: mappingOf(item, itemPlace), place: itemPlace, written: writtenOfItem };
      });
    });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark === undefined ? "" : `:${error.mark.line + 1}`;
    throw new CommandFailure(`${name}${line}: ${error.reason}`, 2);
  }
}

async function filesOf(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && /\.(ya?ml|json)$/i.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  } catch (error) {
    throw new CommandFailure(`cannot read ${path}: ${(error as Error).message}`, 2);
  }
}

async function documentsOf(file: string): Promise<SourceDocument[]> {
  if (file === "-") return parseDocuments(await text(process.stdin), "standard input");
  const source = await readFile(file, "utf8").catch((error: Error) => {
    throw new CommandFailure(`cannot read ${file}: ${error.message}`, 2);
  });
  return parseDocuments(source, file);
}

/** The text at a path, whose names are in JSON or proto form. */
function textAt(texts: unknown, path: readonly (string | number)[]): string | undefined {
  const found = path.reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return value[Number(key)];
    const protoName = String(key).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return isObject(value) ? (value[key] ?? value[protoName]) : undefined;
  }, texts);
  return typeof found === "string" ? found : undefined;
}

function mappingOf(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new CommandFailure(`${place}: a document must be a mapping of fields`, 2);
}

/** Where an event begins in its source. */
function positionOf(event: object | undefined): number {
  const { start, valueStart } = (event ?? {}) as { start?: number; valueStart?: number };
  return start ?? valueStart ?? 0;
}

function lineOf(source: string, position: number): number {
  return source.slice(0, position).split("\n").length;
}
