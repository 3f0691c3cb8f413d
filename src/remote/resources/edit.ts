/** `platform update --edit`: fields in an editor. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { PlatformError } from "../../client/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import { commentOf } from "../catalog/comments.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { mergedFields } from "../documents/differences.ts";
import { parseDocuments } from "../documents/read.ts";
import type { Resource } from "../documents/requests.ts";
import { onePlace } from "../documents/source.ts";
import { readSpec, type Spec } from "../documents/spec.ts";
import { settableFields } from "./fields.ts";

/**
 * Opens the fields of a resource in the editor, and updates by what is saved. Values that are refused reopen it, with
 * the reasons as comments. A field that is removed is cleared. Errors: CommandFailure if nothing was saved after a
 * refusal, or if the editor failed. After an error the file is kept if something was saved, and its path is printed.
 * @param given fields that the options change already.
 */
export async function editFields(
  resource: ResourceEntry,
  existing: Resource,
  given: Spec,
  update: (changes: Spec) => Promise<Resource>,
): Promise<Resource> {
  const folder = await mkdtemp(join(tmpdir(), "platform-edit-")); // for this user alone
  const file = join(folder, `${resource.singular}.yaml`);
  const original = await textOf(resource, existing, given);
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const updated = await editFile(file, original, resource, given, update);
    await remove();
    if (updated === undefined) console.error("note: nothing is changed");
    return updated ?? existing;
  } catch (error) {
    const saved = await readFile(file, "utf8").catch(() => original);
    if (saved === original) await remove();
    else {
      await chmod(file, 0o600); // an editor may have made another file
      console.error(`note: your changes are kept in ${file}; update -f sends them`);
    }
    throw error;
  }
}

/** Edits until an update succeeds; undefined if nothing is saved. */
async function editFile(
  file: string,
  original: string,
  resource: ResourceEntry,
  given: Spec,
  update: (changes: Spec) => Promise<Resource>,
): Promise<Resource | undefined> {
  let [text, problems]: [string, readonly string[]] = [original, []];
  for (;;) {
    const reasons = problems.map((problem) => `# ${printable(problem)}\n`).join("");
    const shown = reasons + text;
    await writeFile(file, shown, { mode: 0o600 });
    await openEditor(file);
    const saved = await readFile(file, "utf8");
    if (saved === shown && Object.keys(given.fields).length === 0) {
      const [first, ...others] = problems;
      if (first !== undefined) throw new CommandFailure([`nothing is changed: ${first}`, ...others], 2);
      return undefined;
    }
    text = saved.startsWith(reasons) ? saved.slice(reasons.length) : saved;
    try {
      return await update(await changesIn(resource, text));
    } catch (error) {
      problems = refusalOf(error);
      if (saved === shown) throw error;
    }
  }
}

/** The fields as YAML, each below its comment. */
async function textOf(resource: ResourceEntry, existing: Resource, given: Spec): Promise<string> {
  const { dump } = await import("js-yaml");
  const { schema } = resource;
  const json = toJson(schema, existing, { alwaysEmitImplicit: true }) as JsonObject;
  const merged = mergedFields(schema, json, given.fields);
  const parts = settableFields(schema).map((field) => {
    const value = merged[field.jsonName];
    const comment = commentOf(field).replace(/^/gm, "# ");
    const line = value === undefined ? `# ${field.jsonName}:\n` : dump({ [field.jsonName]: value }, { lineWidth: 120 });
    return `${comment}\n${line}`;
  });
  return `# ${resource.kind} ${existing.uid}. A field that is removed is cleared.\n\n${parts.join("\n")}`;
}

/** The fields of a text. Those that are missing are cleared. */
async function changesIn(resource: ResourceEntry, text: string): Promise<Spec> {
  const [document] = await parseDocuments(text, "edited");
  const spec = readSpec(resource.schema, document?.value ?? {}, document?.source ?? onePlace("edited"));
  for (const { jsonName } of settableFields(resource.schema))
    if (!(jsonName in spec.fields)) spec.fields[jsonName] = null;
  return spec;
}

/** Why values are refused. Other errors are thrown. */
function refusalOf(error: unknown): readonly string[] {
  if (error instanceof CommandFailure && error.exitStatus === 2) return error.lines;
  if (!(error instanceof PlatformError) || error.code !== Code.InvalidArgument) throw error;
  const { violations, rawMessage } = error;
  return violations.length === 0 ? [rawMessage] : violations.map((it) => `${it.field}: ${it.description}`);
}

async function openEditor(file: string): Promise<void> {
  const editor = process.env.VISUAL || process.env.EDITOR || "vi";
  const child = spawn("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" }); // $EDITOR may have options;
  const [status, signal] = await once(child, "exit");
  if (status !== 0) throw new CommandFailure(`nothing is changed: ${editor} ended with ${status ?? signal}`);
}
