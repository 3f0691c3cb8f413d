/** The names and uids of the resources of a server, for completion. */

import { create, type DescMethodUnary, type Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { PlatformError } from "../../client/index.ts";
import { ProfileError } from "../../client-node/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { hasNames, type ResourceEntry } from "../catalog/resources.ts";
import { listPage, type Resource } from "../documents/requests.ts";
import { openSession, type Session, sessionOptions } from "../session/session.ts";
import type { Candidate, ValuePlace } from "./place.ts";

/** Seconds that a completion waits for the server. */
const defaultTimeout = 1;
const maxCandidates = 200;

/** Of a server that has no search, or does not search this type. */
const notSearchable: readonly Code[] = [Code.Unimplemented, Code.InvalidArgument];

/**
 * The first resources of a kind whose names begin with the word; where the server finds none, the first of all.
 * By name, or by uid if several have the name, if they have no names, or if the word may be the beginning of a uid. None
 * if the server does not answer in time, or refuses.
 */
export async function candidatesOnServer(
  resource: ResourceEntry,
  { options, word }: Pick<ValuePlace, "options" | "word">,
): Promise<Candidate[]> {
  try {
    const timeout = Number(process.env.PLATFORM_COMPLETION_TIMEOUT) || defaultTimeout;
    const session = await openSession(sessionOptions(options), timeout * 1000);
    const mayBeUid = /^[0-9a-f]{4}/.test(word);
    const [found, listed] = await Promise.all([
      word !== "" && hasNames(resource) ? search(session, resource, word) : undefined,
      word === "" || mayBeUid || !hasNames(resource) ? list(session, resource) : undefined,
    ]);
    const items = found ?? listed ?? (await list(session, resource));
    const uids = mayBeUid && hasNames(resource) ? (listed ?? []).map(byUid) : [];
    return [...candidatesOf(resource, items), ...uids].filter(
      ({ value }) => value !== "" && value === printable(value),
    );
  } catch (error) {
    if ([PlatformError, CommandFailure, ProfileError].some((kind) => error instanceof kind)) return [];
    throw error;
  }
}

type Item = Pick<Resource, "uid"> & { readonly name?: unknown };

async function list(session: Session, resource: ResourceEntry): Promise<readonly Item[]> {
  return (await listPage(session, resource, { pageSize: maxCandidates })).items;
}

/** The resources whose names begin with a prefix; undefined for none, and where the server cannot search them. */
async function search(session: Session, { type }: ResourceEntry, prefix: string): Promise<readonly Item[] | undefined> {
  const method = contractRegistry().getService("platform.search.v1.SearchService")!.method
    .searchNames as DescMethodUnary;
  const request = create(method.input, { prefix, types: [type], pageSize: maxCandidates } as never);
  try {
    const { message } = await session.transport.unary(method, undefined, undefined, undefined, request);
    const { results } = message as Message & { readonly results: readonly Item[] };
    return results.length === 0 ? undefined : results; // the word may be quoted as the shell does
  } catch (error) {
    if (error instanceof PlatformError && notSearchable.includes(error.code)) return undefined;
    throw error;
  }
}

function nameOf({ name }: Item): string {
  return typeof name === "string" ? name : "";
}

function byUid(item: Item): Candidate {
  return { value: item.uid, description: printable(nameOf(item)) };
}

/** By name where only one has it. */
function candidatesOf(resource: ResourceEntry, items: readonly Item[]): Candidate[] {
  if (!hasNames(resource)) return items.map(byUid);
  return [...Map.groupBy(items, nameOf)].flatMap(([name, [first, ...others]]) =>
    others.length === 0 ? [{ value: name, description: first!.uid }] : [first!, ...others].map(byUid),
  );
}
