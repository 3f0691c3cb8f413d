/** The names and uids of the resources of a server, for completion. */
import { PlatformError } from "../../client/index.ts";
import { ProfileError } from "../../client-node/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { hasNames, type ResourceEntry } from "../catalog/resources.ts";
import { listPage, type Resource } from "../documents/requests.ts";
import { oneLine } from "../print/text.ts";
import { openSession, sessionOptions } from "../session/session.ts";
import type { Candidate, ValuePlace } from "./place.ts";

/** Seconds that a completion waits for the server. */
const defaultTimeout = 1;
const maxCandidates = 200;

/**
 * The first resources of a kind: by name, or by uid if several have the name, if they have no names, or if the word may
 * be the beginning of a uid. None if the server does not answer in time, or refuses.
 */
export async function candidatesOnServer(
  resource: ResourceEntry,
  { options, word }: Pick<ValuePlace, "options" | "word">,
): Promise<Candidate[]> {
  try {
    const timeout = Number(process.env.PLATFORM_COMPLETION_TIMEOUT) || defaultTimeout;
    const session = await openSession(sessionOptions(options), timeout * 1000);
    const { items } = await listPage(session, resource, { pageSize: maxCandidates });
    return candidatesOf(resource, items, word).filter(({ value }) => value !== "" && value === oneLine(value));
  } catch (error) {
    if ([PlatformError, CommandFailure, ProfileError].some((kind) => error instanceof kind)) return [];
    throw error;
  }
}

function candidatesOf(resource: ResourceEntry, items: readonly Resource[], word: string): Candidate[] {
  const nameOf = ({ name }: Resource) => (typeof name === "string" ? name : "");
  const byUid = (item: Resource) => ({ value: item.uid, description: oneLine(nameOf(item)) });
  if (!hasNames(resource)) return items.map(byUid);
  const names = [...Map.groupBy(items, nameOf)].flatMap(([name, [first, ...others]]) =>
    others.length === 0 ? [{ value: name, description: first!.uid }] : [first!, ...others].map(byUid),
  );
  return /^[0-9a-f]{4}/.test(word) ? [...names, ...items.map(byUid)] : names;
}
