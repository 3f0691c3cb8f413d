/** What records of feeds say about packages, as it is stored: one row for each record and package. */
import type { AffectedFact, StatusEvent } from "../../matching/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { affectedPackages } from "./tables.ts";

/** What a record says about one package. */
export interface Affected {
  /** The uid of its row. */
  readonly uid: string;
  readonly feed: string;
  /** The id of the record in the feed: `GHSA-35jh-r3h4-6jhm`. */
  readonly id: string;
  /** The uid of the vulnerability, the alias group of the record. */
  readonly vulnerability: string;
  /**
   * How it counts beside others: `vex-exact` names a version or a subcomponent, `vex` a product, `advisory` comes from a
   * distribution or another publisher of packages, `ecosystem` from a database about packages of others.
   */
  readonly kind: "vex-exact" | "vex" | "advisory" | "ecosystem";
  readonly fact: AffectedFact;
  /** What happened, of an advisory with events. Absent: the ranges and versions of the fact are what is affected. */
  readonly events?: readonly StatusEvent[] | undefined;
  /** When the record was changed by its publisher, in milliseconds since 1970. */
  readonly modifyMs?: number | undefined;
}

/** The columns and the body of a row. */
export function affectedContent({ feed, vulnerability, fact, ...rest }: Omit<Affected, "uid">) {
  return {
    columns: { feed, vulnerability, package_key: fact.key },
    body: Buffer.from(JSON.stringify({ ...rest, fact })),
  };
}

/** What a row says. */
export function affectedOf({ uid, columns, body }: Row): Affected {
  const { feed, vulnerability } = columns as { readonly feed: string; readonly vulnerability: string };
  return { uid, feed, vulnerability, ...JSON.parse(Buffer.from(body).toString()) };
}

/** The rows that are read at once. */
const portion = 1000;

/** What all records say about these packages, by package key. */
export async function affectedByKey(
  session: ReadSession,
  keys: readonly string[],
): Promise<ReadonlyMap<string, readonly Affected[]>> {
  const found = new Map<string, Affected[]>(keys.map((key) => [key, []]));
  const where = [{ column: "package_key", in: [...found.keys()] }];
  const orderBy = [{ column: "package_key", descending: false }];
  if (found.size === 0) return found;
  for await (const rows of session.pages(affectedPackages, { where, orderBy, limit: portion }))
    for (const row of rows) found.get(row.columns.package_key as string)!.push(affectedOf(row));
  return found;
}
