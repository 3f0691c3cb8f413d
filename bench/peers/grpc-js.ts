/** grpc-js with proto-loader, the usual gRPC server of Node, over the same statements and a cached token check. */
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { createTokenCheck, openStatements, type RepoRow } from "./statements.ts";

const [path = "", , , token = ""] = process.argv.slice(2);
const statements = openStatements(path);
const isKnown = createTokenCheck(token);
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

type Answer = sendUnaryData<unknown>;
const server = new Server();
const denied = { code: 16, details: "invalid bearer token" };
server.addService(ReposService.service, {
  getRepo({ request, metadata }: ServerUnaryCall<{ uid: string }, unknown>, answer: Answer) {
    if (!isKnown(String(metadata.get("authorization")[0]))) return answer(denied);
    const row = statements.get(request.uid);
    if (row === undefined) answer({ code: 5, details: "not found" });
    else answer(null, repoOf(row));
  },
  listRepos({ request, metadata }: ServerUnaryCall<{ uidp: { descendantsOf: string } }, unknown>, answer: Answer) {
    if (!isKnown(String(metadata.get("authorization")[0]))) return answer(denied);
    const { rows, hasMore, total } = statements.list(request.uidp.descendantsOf);
    const nextPageToken = hasMore ? Buffer.from(rows.at(-1)!.uid).toString("base64url") : undefined;
    answer(null, { repos: rows.map(repoOf), nextPageToken, totalCount: total, skipped: 0 });
  },
});
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.send?.({ port });
});
