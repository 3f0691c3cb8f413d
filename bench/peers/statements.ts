/**
 * The SQLite statements of all peers: the row of a repo, and a page of 50 with its total, as in the platform's
 * responses.
 */
import { DatabaseSync } from "node:sqlite";

/** A row of the peers' table. */
export interface RepoRow {
  readonly uid: string;
  readonly name: string;
  readonly description: string;
  readonly create_time_us: number;
  readonly update_time_us: number;
}

/** Opens the peers' database for reading. */
export function openStatements(path: string) {
  const database = new DatabaseSync(path, { readOnly: true });
  database.exec("pragma cache_size = -65536");
  const columns = "uid, name, description, create_time_us, update_time_us";
  const get = database.prepare(`select ${columns} from repos where uid = ?`);
  const page = database.prepare(`select ${columns} from repos where uid > ? and uid < ? order by uid limit 51`);
  const count = database.prepare("select count from counts where parent = ?");
  return {
    get: (uid: string) => get.get(uid) as unknown as RepoRow | undefined,
    /** The first 50 repos below `root`, whether there are more, and the total. */
    list(root: string) {
      const rows = page.all(`${root}/`, `${root}0`) as unknown as RepoRow[];
      return { rows: rows.slice(0, 50), hasMore: rows.length > 50, total: Number(count.get(root)?.count ?? 0) };
    },
  };
}

/** A token check with a warm cache, as on every call but the first of a token. */
export function createTokenCheck(token: string) {
  const known = new Map([[token, { subject: "bench", expireTimeMs: Date.now() + 86_400_000 }]]);
  return (authorization: string | undefined): boolean => {
    const caller = known.get(authorization?.slice("Bearer ".length) ?? "");
    return caller !== undefined && caller.expireTimeMs > Date.now();
  };
}

/** A repo in protobuf JSON, with the same fields as the platform's response. */
export function repoJson(row: RepoRow) {
  return {
    uid: row.uid,
    name: row.name,
    description: row.description,
    catalogTier: "CATALOG_TIER_UNSPECIFIED",
    bundles: [],
    aliases: [],
    activeTags: [],
    createTime: timestampOf(row.create_time_us),
    updateTime: timestampOf(row.update_time_us),
    etag: '"abc-1"',
  };
}

function timestampOf(timeUs: number): string {
  return new Date(timeUs / 1000).toISOString();
}
