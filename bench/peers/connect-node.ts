/** connect-node on node:http and node:http2, with the same statements, an access log and a cached token check. */
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter, type Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ListReposResponseSchema, RepoSchema, ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { openAccessLog } from "./access-log.ts";
import { createTokenCheck, openStatements, type RepoRow } from "./statements.ts";

const [path = "", , , token = ""] = process.argv.slice(2);
const statements = openStatements(path);
const isKnown = createTokenCheck(token);
const log = openAccessLog();

const repoOf = (row: RepoRow) =>
  create(RepoSchema, {
    uid: row.uid,
    name: row.name,
    description: row.description,
    createTime: timestampFromMs(row.create_time_us / 1000),
    updateTime: timestampFromMs(row.update_time_us / 1000),
    etag: '"abc-1"',
  });
const checkAndLog: Interceptor = (next) => async (request) => {
  const startMs = performance.now();
  if (!isKnown(request.header.get("authorization") ?? undefined))
    throw new ConnectError("invalid bearer token", Code.Unauthenticated);
  const response = await next(request);
  log.info({ method: request.url, ms: performance.now() - startMs }, "call");
  return response;
};
const routes = (router: ConnectRouter) =>
  router.service(ReposService, {
    getRepo({ uid }) {
      const row = statements.get(uid);
      if (row === undefined) throw new ConnectError("not found", Code.NotFound);
      return repoOf(row);
    },
    listRepos({ uidp }) {
      const { rows, hasMore, total } = statements.list(uidp?.descendantsOf ?? "");
      const nextPageToken = hasMore ? Buffer.from(rows.at(-1)!.uid).toString("base64url") : "";
      return create(ListReposResponseSchema, { repos: rows.map(repoOf), nextPageToken, totalCount: BigInt(total) });
    },
  });
const handler = connectNodeAdapter({ routes, interceptors: [checkAndLog] });
const http1 = createServer(handler).listen(0, "127.0.0.1", () => {
  const http2 = createHttp2Server(handler).listen(0, "127.0.0.1", () => {
    const portOf = (server: { address(): unknown }) => (server.address() as { port: number }).port;
    process.send?.({ port: portOf(http2), http1Port: portOf(http1) });
  });
});
