/**
 * Bare node:http: two constant responses through JSON.stringify, and an access log. The upper limit for REST and
 * Connect.
 */
import { createServer } from "node:http";
import { openAccessLog } from "./access-log.ts";
import { createTokenCheck, openStatements, repoJson } from "./statements.ts";

const [path = "", root = "", uid = "", token = ""] = process.argv.slice(2);
const statements = openStatements(path);
const isKnown = createTokenCheck(token);
const log = openAccessLog();

const one = repoJson(statements.get(uid)!);
const { rows, total } = statements.list(root);
const many = { repos: rows.map(repoJson), nextPageToken: "x".repeat(300), totalCount: String(total), skipped: 0 };

const server = createServer((request, response) => {
  const startMs = performance.now();
  request.on("data", () => {});
  request.on("end", () => {
    if (!isKnown(request.headers.authorization)) return response.writeHead(401).end();
    const body = JSON.stringify(/\?|ListRepos/.test(request.url!) ? many : one);
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
    log.info({ method: request.method, url: request.url, ms: performance.now() - startMs }, "call");
  });
});
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));
