/** Bare node:http: two answers from memory through JSON.stringify, an access log into a buffered file; the ceiling for REST and Connect. */
import { createServer } from "node:http";
import pino from "pino";
import { createTokenCheck, openStatements, type RepoRow, timestampOf } from "./statements.ts";

const [path = "", root = "", uid = "", token = ""] = process.argv.slice(2);
const statements = openStatements(path);
const isKnown = createTokenCheck(token);
const log = pino(pino.destination({ dest: "/dev/null", minLength: 4096, sync: false }));

const repoOf = (row: RepoRow) => ({
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
});
const one = repoOf(statements.get(uid)!);
const { rows, total } = statements.list(root);
const many = { repos: rows.map(repoOf), nextPageToken: "x".repeat(300), totalCount: String(total), skipped: 0 };

const server = createServer((request, response) => {
  const startMs = performance.now();
  request.on("data", () => {});
  request.on("end", () => {
    if (!isKnown(request.headers.authorization)) return response.writeHead(401).end();
    const body = JSON.stringify(request.url?.includes("?") ? many : one);
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
    log.info({ method: request.method, url: request.url, ms: performance.now() - startMs }, "call");
  });
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));
