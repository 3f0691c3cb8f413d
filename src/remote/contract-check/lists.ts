/** Pages, orders, totals and filters of lists, tried on repos. */
import type { JsonObject } from "@bufbuild/protobuf";
import { freshName, freshUid } from "./server/uids.ts";
import type { Target } from "./target.ts";

/** More than a page may have. */
const size = 201;
const atOnce = 16;
const names = Array.from({ length: size }, (_, i) => `repo-${String(i).padStart(3, "0")}`);
const operation = "ListRepos";

/** Checks lists of a group with as many repos as it takes. */
export async function checkLists(target: Target, parent: string): Promise<void> {
  const { uid } = await target.make("CreateGroup", { parent, group: { name: freshName() } });
  const shelf = String(uid);
  for (let i = 0; i < size; i += atOnce)
    await Promise.all(
      names.slice(i, i + atOnce).map((name) => target.make("CreateRepo", { parent: shelf, repo: { name } })),
    );
  const query = { uidp: { childrenOf: shelf }, orderBy: "name" };
  await checkPageSizes(target, query);
  await checkPages(target, query);
  await checkPageTokens(target, query);
  await checkFilters(target, parent, shelf);
}

async function checkPageSizes(target: Target, query: JsonObject): Promise<void> {
  const cases = [
    ["lists/default-page-size", {}, names.slice(0, 50), 0],
    ["lists/page-size-cap", { pageSize: 2147483647 }, names.slice(0, 200), 0],
    ["lists/skip", { pageSize: 5, skip: 10 }, names.slice(10, 15), 10],
    ["lists/skip", { skip: 1000 }, [], 1000],
    ["lists/order", { pageSize: 3, orderBy: "name desc" }, names.slice(-3).reverse(), 0],
    ["lists/order", { pageSize: 3, orderBy: "name asc" }, names.slice(0, 3), 0],
  ] as const;
  for (const [rule, more, expected, skipped] of cases) {
    const page = await target.answer(rule, operation, { ...query, ...more });
    if (page === undefined) continue;
    target.results.compare(rule, operation, namesOf(page), expected);
    target.results.compare("lists/total-count", operation, page.totalCount, String(size));
    target.results.compare("lists/skip", operation, page.skipped, skipped);
  }
  await target.refusedField("lists/unknown-order", operation, { ...query, orderBy: "nothing" }, "order_by");
}

async function checkPages(target: Target, query: JsonObject): Promise<void> {
  const seen: string[] = [];
  let pageToken: string | undefined;
  do {
    const page = await target.answer("lists/pages", operation, {
      ...query,
      orderBy: "name desc",
      pageSize: 40,
      ...(pageToken !== undefined && { pageToken }),
    });
    if (page === undefined) return;
    seen.push(...namesOf(page));
    target.results.compare("lists/total-count", operation, page.totalCount, String(size));
    pageToken = page.nextPageToken as string | undefined;
  } while (pageToken !== undefined && seen.length <= size);
  target.results.compare("lists/pages", operation, seen, [...names].reverse());
}

async function checkPageTokens(target: Target, query: JsonObject): Promise<void> {
  const page = await target.answer("lists/page-token-alone", operation, { ...query, pageSize: 3 });
  const pageToken = String(page?.nextPageToken);
  const next = await target.answer("lists/page-token-alone", operation, { pageToken, pageSize: 2 });
  if (next !== undefined) target.results.compare("lists/page-token-alone", operation, namesOf(next), names.slice(3, 5));
  for (const damaged of ["x", `${pageToken}AAAA`, pageToken.slice(1)])
    await target.refusedField("lists/page-token-damaged", operation, { pageToken: damaged }, "page_token");
  for (const other of [{ orderBy: "name desc" }, { name: "repo-000" }])
    await target.refusedField(
      "lists/page-token-other-query",
      operation,
      { ...query, ...other, pageToken },
      "page_token",
    );
  await target.refusedField("lists/page-token-other-query", "ListGroups", { pageToken }, "page_token");
}

async function checkFilters(target: Target, group: string, shelf: string): Promise<void> {
  const first = await target.answer("lists/filter-uidp", operation, {
    uidp: { childrenOf: shelf },
    orderBy: "name",
    pageSize: 1,
  });
  const [repo] = (first?.repos ?? []) as JsonObject[];
  const ids = [String(repo?.uid), freshUid(shelf)];
  const cases = [
    ["lists/filter-name", { name: "repo-000", uidp: { childrenOf: shelf } }, 1],
    ["lists/filter-name", { name: "repo-00", uidp: { childrenOf: shelf } }, 0],
    ["lists/filter-uidp", { uidp: { descendantsOf: shelf } }, size],
    ["lists/filter-uidp", { uidp: { childrenOf: group, descendantsOf: shelf } }, 0],
    ["lists/filter-uidp", { uidp: { ids } }, 1],
    ["lists/filter-uidp", { uidp: { ids, childrenOf: group } }, 0],
    ["lists/filter-unknown-uid", { uidp: { descendantsOf: freshUid("") } }, 0],
  ] as const;
  for (const [rule, request, count] of cases) {
    const page = await target.answer(rule, operation, request);
    if (page !== undefined) target.results.compare(rule, operation, page.totalCount, String(count));
  }
  const malformed = { uidp: { childrenOf: "not-a-uid" } };
  await target.refused("lists/filter-malformed-uid", operation, malformed, "INVALID_ARGUMENT");
}

function namesOf({ repos }: JsonObject): string[] {
  return ((repos ?? []) as JsonObject[]).map(({ name }) => String(name));
}
