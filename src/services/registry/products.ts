/**
 * Products and the ends of life of their versions, imported by the operator. A repo holds the product of its name:
 * `python`, or `library/python`. A tag is of the version that it begins with.
 */

import { fixedUid } from "../../new-uid.ts";
import { type Saved, saveContent } from "../../resource/index.ts";
import type { ReadSession, Row, TableSpec, WriteSession } from "../../store/index.ts";
import { repos } from "./repos.ts";

/** A version of a product, of which there are several releases: `3.12`. Dates are `YYYY-MM-DD`, or "". */
export interface ProductCycle {
  readonly version: string;
  readonly releaseDate: string;
  readonly eolDate: string;
  /** Whether support has ended, where no date says so. */
  readonly isEol: boolean;
  readonly isLts: boolean;
  readonly ltsDate: string;
  readonly latest: string;
}

/** A product and its versions, the newest first. */
export interface Product {
  readonly name: string;
  readonly cycles: readonly ProductCycle[];
}

const products: TableSpec = { name: "products", columns: { name: "text" } };

const uidOf = (name: string) => fixedUid("product", name);

/** Stores a product, replacing a former one of its name. */
export async function saveProduct(session: WriteSession, product: Product, nowMs: number): Promise<Saved> {
  const uid = uidOf(product.name);
  const row = { uid, parent: "", body: Buffer.from(JSON.stringify(product)), columns: { name: product.name } };
  return saveContent(session, products, row, nowMs, await session.get(products, uid));
}

/** The products of repos with these names, by the name of the repo. */
export async function productsOf(
  session: ReadSession,
  repoNames: readonly string[],
): Promise<ReadonlyMap<string, Product>> {
  const nameOf = (repoName: string) => repoName.slice(repoName.lastIndexOf("/") + 1);
  const rows = await session.getMany(products, [...new Set(repoNames.map((name) => uidOf(nameOf(name))))]);
  const found = [...rows.values()].map(({ body }) => JSON.parse(Buffer.from(body).toString()) as Product);
  return new Map(
    repoNames.flatMap((repoName): [string, Product][] => {
      const product = found.find(({ name }) => name === nameOf(repoName));
      return product === undefined ? [] : [[repoName, product]];
    }),
  );
}

/** The products of repos, by the uid of the repo. */
export async function productsIn(
  session: ReadSession,
  repoUids: readonly string[],
): Promise<ReadonlyMap<string, Product>> {
  const rows = await session.getMany(repos.table, repoUids);
  const nameOf = (row: Row) => String(row.columns.name);
  const products = await productsOf(session, [...rows.values()].map(nameOf));
  return new Map(
    [...rows].flatMap(([uid, row]): [string, Product][] => {
      const product = products.get(nameOf(row));
      return product === undefined ? [] : [[uid, product]];
    }),
  );
}

/** The version of a tag: the longest that it begins with; of `latest` and `latest-dev`, the newest. */
export function cycleOf({ cycles }: Product, tag: string): ProductCycle | undefined {
  if (/^latest(-|$)/.test(tag)) return cycles[0];
  const begins = (version: string) =>
    tag === version || (tag.startsWith(version) && !/^[0-9]/.test(tag.slice(version.length)));
  return cycles.filter(({ version }) => begins(version)).sort((a, b) => b.version.length - a.version.length)[0];
}

/** Where a version is in its life. Times are in milliseconds since 1970. */
export interface LifeCycle {
  readonly state: "active" | "grace" | "inactive";
  /** undefined where no grace period is known. */
  readonly graceEndMs: number | undefined;
}

const graceMonths = 6;

/** Where a version is in its life now. A grace period of six months follows an end of life with a date. */
export function lifeCycleOf({ eolDate, isEol }: ProductCycle, nowMs: number): LifeCycle {
  if (eolDate === "") return { state: isEol ? "inactive" : "active", graceEndMs: undefined };
  const endMs = Date.parse(`${eolDate}T00:00:00Z`);
  const graceEndMs = monthsLater(endMs, graceMonths);
  return { state: nowMs < endMs ? "active" : nowMs < graceEndMs ? "grace" : "inactive", graceEndMs };
}

/** Whether the version that a tag is of has reached its end of life. */
export function hasEnded(product: Product | undefined, tag: string, nowMs: number): boolean {
  const cycle = product && cycleOf(product, tag);
  return cycle !== undefined && lifeCycleOf(cycle, nowMs).state !== "active";
}

/** The same day of the month some months later, or the last day of a month that is shorter. */
function monthsLater(timeMs: number, months: number): number {
  const date = new Date(timeMs);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + months);
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return date.getTime();
}
