/** Storing components. What is known about one is stored with it, in the same transaction. */
import { type Component, componentKeys } from "../../matching/index.ts";
import { newRow } from "../../resource/index.ts";
import type { ReadSession, WriteSession } from "../../store/index.ts";
import { matchComponents } from "./component-matches.ts";
import { componentUid, lockMatches } from "./components.ts";
import { components } from "./tables.ts";

/** The rows that are read at once. */
const portion = 1000;

/** Stores those of the components that are new, with what is known about them. */
export async function saveComponents(
  session: WriteSession,
  given: ReadonlyMap<string, Component>,
  nowMs: number,
): Promise<void> {
  const missing = await missingOf(session, given);
  if (missing.length === 0) return;
  await lockMatches(session);
  // Another transaction may have stored some of them before it let go of the lock.
  const added = await missingOf(session, new Map(missing));
  for (const [id, component] of added) {
    const keys = componentKeys(component).map(({ key }) => key);
    const columns = { package_key: keys[0]!, name: component.name, keys: [...new Set(keys)] };
    const body = Buffer.from(JSON.stringify(component));
    await session.insert(components, newRow(componentUid(id), "", nowMs, { body, columns }));
  }
  await matchComponents(
    session,
    added.map(([id, component]) => ({ id, ...component })),
    nowMs,
  );
}

async function missingOf(session: ReadSession, given: ReadonlyMap<string, Component>) {
  const ids = [...given.keys()];
  const stored = new Set<string>();
  for (let start = 0; start < ids.length; start += portion) {
    const rows = await session.getMany(components, ids.slice(start, start + portion).map(componentUid));
    for (const uid of rows.keys()) stored.add(uid);
  }
  return [...given].filter(([id]) => !stored.has(componentUid(id)));
}
