/** Fastify as a user would write it: response schemas, plain columns of its own table, prepared statements, its log, a cached token check. */
import Fastify from "fastify";
import pino from "pino";
import { createTokenCheck, openStatements, type RepoRow, timestampOf } from "./statements.ts";

const [path = "", , , token = ""] = process.argv.slice(2);
const statements = openStatements(path);
const isKnown = createTokenCheck(token);
const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;
const repo = {
  type: "object",
  properties: {
    uid: text,
    name: text,
    description: text,
    catalogTier: text,
    bundles: texts,
    aliases: texts,
    activeTags: texts,
    createTime: text,
    updateTime: text,
    etag: text,
  },
} as const;
const page = {
  type: "object",
  properties: {
    repos: { type: "array", items: repo },
    nextPageToken: text,
    totalCount: text,
    skipped: { type: "integer" },
  },
} as const;

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

const server = Fastify({
  loggerInstance: pino(pino.destination({ dest: "/dev/null", minLength: 4096, sync: false })),
});
server.addHook("onRequest", async (request, reply) => {
  if (!isKnown(request.headers.authorization)) return reply.code(401).send({ code: 16 });
});
server.get<{ Querystring: { "uidp.descendants_of": string } }>(
  "/registry/v2/repos",
  { schema: { response: { 200: page } } },
  async (request) => {
    const { rows, hasMore, total } = statements.list(request.query["uidp.descendants_of"]);
    const nextPageToken = hasMore ? Buffer.from(rows.at(-1)!.uid).toString("base64url") : undefined;
    return { repos: rows.map(repoOf), nextPageToken, totalCount: String(total), skipped: 0 };
  },
);
server.get<{ Params: { "*": string } }>(
  "/registry/v2/repos/*",
  { schema: { response: { 200: repo } } },
  async (request, reply) => {
    const row = statements.get(request.params["*"]);
    return row === undefined ? reply.code(404).send({ code: 5 }) : repoOf(row);
  },
);
await server.listen({ host: "127.0.0.1", port: 0 });
process.send?.({ port: (server.server.address() as { port: number }).port });
