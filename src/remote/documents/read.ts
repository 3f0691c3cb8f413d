/** Documents of files: YAML or JSON, several in one file, folders of them, or standard input. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { CommandFailure, readInput } from "../../command/index.ts";
import { type Source, WrittenDocuments } from "./source.ts";

/** A document, and where it is. */
export interface SourceDocument {
  readonly value: Readonly<Record<string, unknown>>;
  readonly source: Source;
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
  const { CORE_SCHEMA, constructFromEvents, getScalarValue, parseEvents, YAMLException } = await import("js-yaml");
  try {
    const events = parseEvents(source, {});
    const values = constructFromEvents(events, { source, schema: CORE_SCHEMA, maxAliases });
    const written = new WrittenDocuments(name, source, events, getScalarValue);
    return values.flatMap((value, index) => {
      if (value === null || value === undefined) return [];
      if (!Array.isArray(value)) return [documentOf(value, written.source(index, []))];
      return value.map((item, position) => documentOf(item, written.source(index, [position])));
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
  return parseDocuments(readInput(file), file);
}

function documentOf(value: unknown, source: Source): SourceDocument {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return { value: value as Record<string, unknown>, source };
  throw new CommandFailure(`${source.placeOf([])}: a document must be a mapping of fields`, 2);
}
