/**
 * The revision of what is known about packages: it changes with everything that a finding depends on besides images.
 * Its setting is also the lock of those who change it, and of those who add components: else neither would see what the
 * other adds. The last changes are listed, so that who remembers findings forgets only those that have changed.
 */
import { randomBytes } from "node:crypto";
import { feedOrderSetting } from "../../resource/index.ts";
import type { ReadSession, WriteSession } from "../../store/index.ts";

const setting = "findings_revision";
const logSetting = "findings_changes";

/** What a transaction changes. */
export interface FindingChanges {
  /** Components, by id, about which something else is known. */
  readonly components: readonly string[];
  /** The uids of vulnerabilities that are known by other ids, or have other ratings. */
  readonly vulnerabilities: readonly string[];
}

/** A revision. What is known about every package is the same while both are. */
export interface Revision {
  /** "" before the first change. */
  readonly changes: string;
  /** The order of feeds, which is not changed with the rest. */
  readonly feedOrder: string;
}

/** The changes of one transaction, as they are stored. */
interface LoggedChanges extends FindingChanges {
  /** The revision before. */
  readonly before: string;
}

/** How many components and vulnerabilities are listed. */
const maxLogged = 2000;

/** What a transaction has changed so far. */
class OwnChanges {
  readonly before: string;
  /** Those of transactions before. */
  readonly log: readonly LoggedChanges[];
  readonly #components = new Set<string>();
  readonly #vulnerabilities = new Set<string>();
  /** Whether all is changed, as far as this is listed. */
  isEverything = false;

  constructor(before: string, log: readonly LoggedChanges[]) {
    this.before = before;
    this.log = log;
  }

  add({ components, vulnerabilities }: FindingChanges): void {
    for (const id of components) this.#components.add(id);
    for (const uid of vulnerabilities) this.#vulnerabilities.add(uid);
    if (this.#components.size + this.#vulnerabilities.size > maxLogged) this.isEverything = true;
  }

  /** The last changes, with these: as many as are listed. */
  all(): readonly LoggedChanges[] {
    if (this.isEverything) return [];
    const own = {
      before: this.before,
      components: [...this.#components],
      vulnerabilities: [...this.#vulnerabilities],
    };
    const all = [...this.log, own];
    let size = 0;
    const first = all.findLastIndex(({ components, vulnerabilities }) => {
      size += components.length + vulnerabilities.length + 1;
      return size > maxLogged;
    });
    return all.slice(first + 1);
  }
}

const changed = new WeakMap<WriteSession, OwnChanges>();

/** The transactions that have the lock. They have it until they end. */
const locked = new WeakSet<WriteSession>();

/** Makes other transactions that add components, or change what is known about packages, wait for this one. */
export async function lockMatches(session: WriteSession): Promise<void> {
  if (locked.has(session)) return;
  // A lock needs a row.
  if ((await session.setting(setting)) === undefined) await session.addSetting(setting, new Uint8Array());
  await session.lockSetting(setting);
  locked.add(session);
}

/** Changes the revision if anything changes, once for each transaction, and lists it. */
export async function changeRevision(session: WriteSession, changes: FindingChanges | "everything"): Promise<void> {
  if (changes !== "everything" && changes.components.length + changes.vulnerabilities.length === 0) return;
  let own = changed.get(session);
  if (own === undefined) {
    await lockMatches(session);
    own = new OwnChanges(hexOf(await session.setting(setting)), await readLog(session));
    changed.set(session, own);
    await session.putSetting(setting, randomBytes(8));
  }
  if (changes === "everything") own.isEverything = true;
  else own.add(changes);
  await session.putSetting(logSetting, Buffer.from(JSON.stringify(own.all())));
}

/** The revision of now. */
export async function readRevision(session: ReadSession): Promise<Revision> {
  return {
    changes: hexOf(await session.setting(setting)),
    feedOrder: hexOf(await session.setting(feedOrderSetting)),
  };
}

/** What has changed after a revision; undefined when that is not listed any more, so that everything may have. */
export async function changesAfter(session: ReadSession, revision: string): Promise<FindingChanges | undefined> {
  const log = await readLog(session);
  const first = log.findIndex(({ before }) => before === revision);
  if (first < 0) return undefined;
  const later = log.slice(first);
  return {
    components: [...new Set(later.flatMap(({ components }) => components))],
    vulnerabilities: [...new Set(later.flatMap(({ vulnerabilities }) => vulnerabilities))],
  };
}

async function readLog(session: ReadSession): Promise<readonly LoggedChanges[]> {
  const bytes = await session.setting(logSetting);
  return bytes === undefined ? [] : JSON.parse(Buffer.from(bytes).toString());
}

function hexOf(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString("hex");
}
