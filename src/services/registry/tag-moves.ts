/**
 * Moves of tags: which digest a tag names from when on. They are kept by the name of the tag, so that the history goes
 * on when a tag is deleted and created again.
 */
import type { HandlerContext } from "@connectrpc/connect";
import { newUid } from "../../new-uid.ts";
import { environmentOf, newRow, transactionOf } from "../../resource/index.ts";
import type { ReadSession, TableSpec } from "../../store/index.ts";

/** The rows of moves, below their repos. The body is the digest, empty for a deletion. */
export const tagMoves: TableSpec = { name: "tag_moves", columns: { tag: "text" } };

/** A time in which a tag has named a digest, in milliseconds since 1970. */
export interface NamedDigest {
  readonly digest: string;
  readonly fromMs: number;
  /** Absent for the digest that it names now. */
  readonly toMs?: number;
}

/** Records that a tag of a repo names another digest from now on; none for a deletion. */
export async function recordMove(
  context: Pick<HandlerContext, "values">,
  repoUid: string,
  { name, digest }: { readonly name: string; readonly digest: string },
): Promise<void> {
  const { nowMs } = environmentOf(context);
  const content = { body: Buffer.from(digest), columns: { tag: name } };
  await transactionOf(context).insert(tagMoves, newRow(newUid(repoUid), repoUid, nowMs, content));
}

/** The rows that are read at once. */
const portion = 1000;

/** The digests that a tag has named, the oldest first. */
export async function digestsNamed(session: ReadSession, repoUid: string, tag: string): Promise<NamedDigest[]> {
  const where = [{ column: "tag", equals: tag }];
  const orderBy = [{ column: "create_time_us", descending: false }];
  const found: NamedDigest[] = [];
  for await (const rows of session.pages(tagMoves, { parent: repoUid, where, orderBy, limit: portion }))
    for (const { body, createTimeUs } of rows) {
      const fromMs = createTimeUs / 1000;
      const last = found.at(-1);
      if (last !== undefined && last.toMs === undefined) found[found.length - 1] = { ...last, toMs: fromMs };
      const digest = Buffer.from(body).toString();
      if (digest !== "") found.push({ digest, fromMs });
    }
  return found;
}
