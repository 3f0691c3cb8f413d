/**
 * Fastify as in a typical application: response schemas, a table of plain columns, prepared statements, an access log,
 * a cached token check.
 */
import Fastify from "fastify";
import { openAccessLog } from "./access-log.ts";
import { createTokenCheck, openStatements, repoJson } from "./statements.ts";

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

const log = openAccessLog();
const server = Fastify({ loggerInstance: log, disableRequestLogging: true });
server.addHook("onResponse", async ({ method, url }, { elapsedTime }) => {
  log.info({ method, url, ms: elapsedTime }, "call"); // one line, like the others; Fastify's own log has two
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
    return { repos: rows.map(repoJson), nextPageToken, totalCount: String(total), skipped: 0 };
  },
);
server.get<{ Params: { "*": string } }>(
  "/registry/v2/repos/*",
  { schema: { response: { 200: repo } } },
  async (request, reply) => {
    const row = statements.get(request.params["*"]);
    return row === undefined ? reply.code(404).send({ code: 5 }) : repoJson(row);
  },
);
await server.listen({ host: "127.0.0.1", port: 0 });
process.send?.({ port: (server.server.address() as { port: number }).port });
