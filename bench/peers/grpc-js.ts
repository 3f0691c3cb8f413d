/**
 * grpc-js with proto-loader, the usual gRPC server of Node, with the same statements, an access log and a cached token
 * check.
 */
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { openAccessLog } from "./access-log.ts";
import { createTokenCheck, openStatements, type RepoRow } from "./statements.ts";

const [path = "", , , token = ""] = process.argv.slice(2);
const statements = openStatements(path);
const isKnown = createTokenCheck(token);
const log = openAccessLog();
const definition = loadSync("platform/registry/v2/repos.proto", {
  includeDirs: ["proto", ".proto-deps"],
  longs: Number,
});
// biome-ignore lint/suspicious/noExplicitAny: grpc-js types its loaded packages no closer
const { ReposService } = (loadPackageDefinition(definition) as any).platform.registry.v2;

const timeOf = (timeUs: number) => ({ seconds: Math.floor(timeUs / 1e6), nanos: (timeUs % 1e6) * 1000 });
const repoOf = (row: RepoRow) => ({
  uid: row.uid,
  name: row.name,
  description: row.description,
  createTime: timeOf(row.create_time_us),
  updateTime: timeOf(row.update_time_us),
  etag: '"abc-1"',
});

type Call<Request> = ServerUnaryCall<Request, unknown>;
/** Wraps a method with the token check and the access log. */
const method =
  <Request>(handle: (request: Request) => unknown) =>
  (call: Call<Request>, answer: sendUnaryData<unknown>) => {
    const startMs = performance.now();
    if (!isKnown(String(call.metadata.get("authorization")[0])))
      return answer({ code: 16, details: "invalid bearer token" });
    const message = handle(call.request);
    if (message === undefined) answer({ code: 5, details: "not found" });
    else answer(null, message);
    log.info({ method: call.getPath(), ms: performance.now() - startMs }, "call");
  };
const server = new Server();
server.addService(ReposService.service, {
  getRepo: method(({ uid }: { uid: string }) => {
    const row = statements.get(uid);
    return row && repoOf(row);
  }),
  listRepos: method(({ uidp }: { uidp: { descendantsOf: string } }) => {
    const { rows, hasMore, total } = statements.list(uidp.descendantsOf);
    const nextPageToken = hasMore ? Buffer.from(rows.at(-1)!.uid).toString("base64url") : undefined;
    return { repos: rows.map(repoOf), nextPageToken, totalCount: total, skipped: 0 };
  }),
});
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.send?.({ port });
});
