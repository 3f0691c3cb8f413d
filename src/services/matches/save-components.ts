/** Storing components. What is known about one is stored with it, in the same transaction. */
import { type Component, componentKeys } from "../../matching/index.ts";
import { newRow } from "../../resource/index.ts";
import type { WriteSession } from "../../store/index.ts";
import { matchComponents } from "./component-matches.ts";
import { componentUid, readComponents, type StoredComponent } from "./components.ts";
import { changeRevision, lockMatches } from "./revision.ts";
import { components } from "./tables.ts";

/** A component, and the licences that a document names. */
export interface ComponentToSave {
  readonly component: Component;
  readonly licenses: readonly string[];
}

/** Stores those of the components that are new, with what is known about them, and licences that are new. */
export async function saveComponents(
  session: WriteSession,
  given: ReadonlyMap<string, ComponentToSave>,
  nowMs: number,
): Promise<void> {
  if ((await changesIn(session, given)).length === 0) return;
  await lockMatches(session);
  // Another transaction may have stored some of them before it let go of the lock.
  const added: StoredComponent[] = [];
  const changed: string[] = [];
  for (const { id, component, licenses, stored } of await changesIn(session, given)) {
    const keys = [...new Set(componentKeys(component).map(({ key }) => key))];
    const columns = { package_key: keys[0]!, keys };
    const body = Buffer.from(JSON.stringify({ ...(stored ?? component), id: undefined, licenses }));
    if (stored === undefined) {
      await session.insert(components, newRow(componentUid(id), "", nowMs, { body, columns }));
      added.push({ id, ...component, licenses });
    } else {
      const row = (await session.getToChange(components, componentUid(id)))!;
      await session.update(components, { ...row, body, updateTimeUs: nowMs * 1000 });
      changed.push(id);
    }
  }
  if (changed.length > 0) await changeRevision(session, { components: changed, vulnerabilities: [] });
  await matchComponents(session, added, nowMs);
}

/** The components that are not stored, or of which more licences are known now. */
async function changesIn(session: WriteSession, given: ReadonlyMap<string, ComponentToSave>) {
  const known = await readComponents(session, [...given.keys()]);
  return [...given].flatMap(([id, { component, licenses }]) => {
    const stored = known.get(id);
    const all = [...new Set([...(stored?.licenses ?? []), ...licenses])].sort().slice(0, maxLicenses);
    const isChanged = stored === undefined || all.length > stored.licenses.length;
    return isChanged ? [{ id, component, licenses: all, stored }] : [];
  });
}

/** Documents that contradict one another must not make a component grow without end. */
const maxLicenses = 100;
