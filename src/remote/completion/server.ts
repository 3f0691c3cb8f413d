/** The names and uids of the resources of a server, for completion. */

import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { PlatformError } from "../../client/index.ts";
import { ProfileError } from "../../client-node/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import { isUid } from "../../uid.ts";
import { parentKind } from "../catalog/contract.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { hasNames, type ResourceEntry } from "../catalog/resources.ts";
import { uidOf } from "../documents/lookup.ts";
import { Paths } from "../documents/paths.ts";
import { listPage, type Resource } from "../documents/requests.ts";
import { openSession, type Session, sessionOptions } from "../session/session.ts";
import type { Candidate, ValuePlace } from "./place.ts";

/** Seconds that a completion waits for the server. */
const defaultTimeout = 1;
const maxCandidates = 200;

/** Of a server that has no search, or does not search this type. */
const notSearchable: readonly Code[] = [Code.Unimplemented, Code.InvalidArgument];

/**
 * The first resources of a kind whose names or paths begin with the word; where the server finds none, the first of
 * all. By name, by path if several have the name, or by uid if they have no names, or if the word may be the beginning
 * of a uid. None if the server does not answer in time, or refuses.
 */
export async function candidatesOnServer(
  resource: ResourceEntry,
  { options, word }: Pick<ValuePlace, "options" | "word">,
): Promise<Candidate[]> {
  return answersOf(options, async (session) => {
    if (word.includes("/") && hasNames(resource) && !isUid(word.slice(0, word.indexOf("/"))))
      return pathsFrom(session, resource, word);
    const mayBeUid = /^[0-9a-f]{4}/.test(word);
    const [found, listed] = await Promise.all([
      word !== "" && hasNames(resource) ? search(session, resource, word) : undefined,
      word === "" || mayBeUid || !hasNames(resource) ? list(session, resource) : undefined,
    ]);
    const items = found ?? listed ?? (await list(session, resource));
    const uids = mayBeUid && hasNames(resource) ? (listed ?? []).map(byUid) : [];
    return [...(await candidatesOf(session, resource, items)), ...uids];
  });
}

/** The names of the first tags of a repo. None if the server does not answer in time, or refuses. */
export async function tagsOnServer(
  tag: ResourceEntry,
  repo: string,
  { options }: Pick<ValuePlace, "options">,
): Promise<Candidate[]> {
  return answersOf(options, async (session) => {
    const childrenOf = await uidOf(session, parentKind(tag)!.type, repo);
    const { items } = await listPage(session, tag, { uidp: { childrenOf }, pageSize: maxCandidates });
    return items.map((item) => ({ value: nameOf(item), description: item.uid }));
  });
}

/** What a server answers that can be on a command line. None if it does not answer in time, or refuses. */
async function answersOf(
  options: ValuePlace["options"],
  ask: (session: Session) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  try {
    const timeout = Number(process.env.PLATFORM_COMPLETION_TIMEOUT) || defaultTimeout;
    const session = await openSession(sessionOptions(options), timeout * 1000);
    return (await ask(session)).filter(({ value }) => value !== "" && value === printable(value));
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
  const request = create(method.input, {
    prefix,
    types: [type],
    pageSize: maxCandidates,
  } as MessageInitShape<DescMessage>);
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

/** What is imported has an id of its own, by which people know it. */
function byUid(item: Item & { readonly id?: unknown }): Candidate {
  if (typeof item.id === "string" && item.id !== "") return { value: item.id, description: item.uid };
  return { value: item.uid, description: printable(nameOf(item)) };
}

/** By name where only one has it, else by path; by uid where several have that, too. */
async function candidatesOf(session: Session, resource: ResourceEntry, items: readonly Item[]): Promise<Candidate[]> {
  if (!hasNames(resource)) return items.map(byUid);
  const named = [...Map.groupBy(items, nameOf)];
  const paths = Paths.of(session);
  const shared = named.flatMap(([, found]) => (found.length > 1 ? found.map(({ uid }) => uid) : []));
  await paths.load(resource, shared);
  return named.flatMap(([name, found]) => {
    if (found.length === 1) return [{ value: name, description: found[0]!.uid }];
    return [...Map.groupBy(found, ({ uid }) => paths.pathOf(resource, uid))].flatMap(([path, [first, ...others]]) =>
      path === undefined || others.length > 0
        ? [first!, ...others].map(byUid)
        : [{ value: path, description: first!.uid }],
    );
  });
}

/**
 * The paths of resources, and those of what they may be in with `/` after them, that go on where one ends that is in
 * the word: `team/prod/`, `team/nginx` for `team/`.
 */
async function pathsFrom(session: Session, resource: ResourceEntry, word: string): Promise<Candidate[]> {
  const kinds: ResourceEntry[] = [];
  for (let kind: ResourceEntry | undefined = resource; kind && !kinds.includes(kind); kind = parentKind(kind))
    if (hasNames(kind)) kinds.push(kind);
  const holders = kinds.filter((kind) => kinds.some((other) => parentKind(other) === kind));
  const childrenOf = async (above: string, holder: ResourceEntry | undefined, uidp: object) => {
    const lists = kinds
      .filter((kind) => holder === undefined || parentKind(kind) === holder)
      .map(async (kind) =>
        (await listPage(session, kind, { uidp, pageSize: maxCandidates })).items.map((item) => ({
          value: `${above}/${nameOf(item)}${kind === resource ? "" : "/"}`,
          description: item.uid,
        })),
      );
    return (await Promise.all(lists)).flat();
  };
  const found = [...word.matchAll(/\//g)].flatMap(({ index }) => {
    const above = word.slice(0, index);
    if (above === "") return [childrenOf("", undefined, { inRoot: true })];
    return holders.map(async (holder) => {
      const uid = await uidOf(session, holder.type, above).catch(nothingNamedSo);
      return uid === undefined ? [] : childrenOf(above, holder, { childrenOf: uid });
    });
  });
  return (await Promise.all(found)).flat().filter(({ value }) => value.startsWith(word) && value !== word);
}

function nothingNamedSo(error: unknown): undefined {
  if (!(error instanceof CommandFailure)) throw error;
}
