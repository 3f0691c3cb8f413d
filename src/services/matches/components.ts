/**
 * Components: each distinct package at one version that an image contains, stored once for all images.
 */
import { type Component, componentOf } from "../../matching/index.ts";
import { fixedUid } from "../../new-uid.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { components } from "./tables.ts";

/** A component as it is stored. */
export interface StoredComponent extends Component {
  /** The first 16 digits of its uid, which images name it by. */
  readonly id: string;
  /** Those that any document names, sorted. */
  readonly licenses: readonly string[];
}

/** The hex digits of an id. */
export const idLength = 16;

/** The id of a component, derived from its package URL. */
export function componentId(purl: string): string {
  return fixedUid("component", purl).slice(0, idLength);
}

/** The uid of the component with an id. */
export function componentUid(id: string): string {
  return id.padEnd(40, "0");
}

/** The rows that are read at once. */
const portion = 1000;

/** The components with these ids, by id. */
export async function readComponents(
  session: ReadSession,
  ids: readonly string[],
): Promise<Map<string, StoredComponent>> {
  const found = new Map<string, StoredComponent>();
  for (let start = 0; start < ids.length; start += portion) {
    const rows = await session.getMany(components, ids.slice(start, start + portion).map(componentUid));
    for (const row of rows.values()) {
      const component = storedComponent(row);
      found.set(component.id, component);
    }
  }
  return found;
}

/** The stored components that these keys find, in portions. */
export async function* componentsWithKeys(session: ReadSession, keys: readonly string[]) {
  const where = [{ column: "keys", hasAny: keys }];
  for await (const rows of session.pages(components, { where, limit: portion })) yield rows.map(storedComponent);
}

/** The stored components of these packages, by package key, in portions. */
export async function* componentsOf(session: ReadSession, packageKeys: readonly string[]) {
  const where = [{ column: "package_key", in: packageKeys }];
  for await (const rows of session.pages(components, { where, limit: portion })) yield rows.map(storedComponent);
}

function storedComponent({ uid, body }: Row): StoredComponent {
  return { id: uid.slice(0, idLength), ...JSON.parse(Buffer.from(body).toString()) };
}

/** The component of a package without a type, which nothing can be known about. */
export function genericComponent(name: string, version: string): Component {
  const purl = `pkg:generic/${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
  return componentOf(purl) as Component;
}
