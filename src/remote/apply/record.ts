/**
 * What applies of one origin have created. The API has no labels, so a file says what may be pruned:
 * `$XDG_STATE_HOME/platform/apply/….json`, mode 0600, one for each server and origin.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { tryLock } from "../../client-node/index.ts";
import { CommandFailure } from "../../command/index.ts";

/** A resource that an apply created. */
export interface RecordedResource {
  /** `iam.platform.internal/Role`. */
  readonly type: string;
  readonly uid: string;
  /** `Role viewer`. */
  readonly label: string;
  /** The uids of the resources that it refers to, its parent included. */
  readonly uses: readonly string[];
}

/** Whose record it is. */
interface Head {
  readonly server: string;
  readonly origin: string;
}

/** Where the record of an origin is. */
export function recordFile(server: string, origin: string): string {
  const state = process.env.XDG_STATE_HOME || join(homedir(), ".local", "state");
  const key = createHash("sha256")
    .update(`${new URL(server).href}\n${origin}`)
    .digest("hex")
    .slice(0, 32);
  return join(state, "platform", "apply", `${key}.json`);
}

/** The record of an origin. It is written after each change. */
export class ApplyRecord {
  readonly file: string;
  readonly #head: Head;
  readonly #resources: Map<string, RecordedResource>;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(file: string, head: Head, resources: readonly RecordedResource[]) {
    this.file = file;
    this.#head = head;
    this.#resources = new Map(resources.map((resource) => [keyOf(resource), resource]));
  }

  /** Reads a record; an empty one if there is no file. Errors: CommandFailure if it is that of another server. */
  static async read(file: string, server: string, origin: string): Promise<ApplyRecord> {
    const head = { server: new URL(server).href, origin };
    let text: string;
    try {
      text = await readFile(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return new ApplyRecord(file, head, []);
      throw new CommandFailure(`cannot read the record ${file}: ${(error as Error).message}`);
    }
    const content = parsed(text);
    if (content === undefined) throw new CommandFailure(`${file} is not a record of applied documents`);
    if (content.server !== head.server || content.origin !== origin)
      throw new CommandFailure(
        `the record ${file} is of server ${content.server} and origin ${content.origin}, not of ${head.server} and ${origin}`,
      );
    return new ApplyRecord(file, head, content.resources);
  }

  /** What was created and not deleted, in the order of creation. */
  get resources(): readonly RecordedResource[] {
    return [...this.#resources.values()];
  }

  /** Records a resource. Returns when it is written. */
  async add(resource: RecordedResource): Promise<void> {
    this.#resources.set(keyOf(resource), resource);
    await this.#write();
  }

  /** Forgets a resource that is deleted. Returns when it is written. */
  async remove(resource: RecordedResource): Promise<void> {
    this.#resources.delete(keyOf(resource));
    await this.#write();
  }

  /** Writes the record. Changes that come while it is being written are written together after that. */
  #write(): Promise<void> {
    this.#next ??= this.#writing.then(async () => {
      this.#next = undefined;
      const text = `${JSON.stringify({ version: 1, ...this.#head, resources: this.resources }, undefined, 1)}\n`;
      await mkdir(dirname(this.file), { recursive: true, mode: 0o700 });
      const temporary = `${this.file}.tmp`; // the lock excludes another writer
      await writeFile(temporary, text, { mode: 0o600, flush: true });
      await rename(temporary, this.file);
    });
    const written = this.#next;
    this.#writing = written.catch(() => {});
    return written;
  }
}

/** Takes the lock of a record. Returns how to release it. Errors: CommandFailure if another process has it. */
export async function lockRecord(file: string, origin: string): Promise<() => Promise<void>> {
  const lock = `${file}.lock`;
  const attempt = await tryLock(lock);
  if ("owner" in attempt)
    throw new CommandFailure(`process ${attempt.owner} is applying ${origin}; wait for its end, or remove ${lock}`, 5);
  return attempt.release;
}

/** The uid alone is also that of a part of the resource. */
function keyOf({ type, uid }: RecordedResource): string {
  return `${type} ${uid}`;
}

function parsed(text: string) {
  try {
    const content = JSON.parse(text) as { server: string; origin: string; resources: RecordedResource[] } | null;
    return Array.isArray(content?.resources) ? content : undefined;
  } catch {
    return undefined;
  }
}
