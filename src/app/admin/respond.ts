/** An answer of the admin listener. */
import type { ServerResponse } from "node:http";

/** Its status, and a JSON document or text. */
export type Answer = readonly [status: number, body: object | string];

const textType = "text/plain; version=0.0.4; charset=utf-8";

/** Answers with JSON, or with text. */
export function respond(response: ServerResponse, [status, body]: Answer): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, {
    "content-type": typeof body === "string" ? textType : "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
  });
  response.end(response.req.method === "HEAD" ? "" : text);
}
