/** The handler as a plugin of Fastify. */
import type { PortRequest, PortResponse } from "../../message/index.ts";
import { createRestHandler } from "../handler.ts";
import type { RestOptions } from "../options.ts";

/** What the plugin uses of a Fastify instance. */
interface Fastify {
  readonly prefix: string;
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    parser: (request: never, payload: never, done: (error: Error | null) => void) => void,
  ): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the types of Fastify are those of its routes and schemas
  all(path: string, handler: (request: any, reply: any) => unknown): unknown;
}

/**
 * A plugin of Fastify that serves all annotated methods, below the prefix that it is registered with. A request that no
 * method has path and HTTP method of gets the answer of Fastify's handler for 404.
 * Errors: as `createRestHandler`.
 */
export function restPlugin(options: RestOptions): (app: Fastify) => Promise<void> {
  return async (app) => {
    const handler = createRestHandler({ basePath: app.prefix, ...options });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_, __, done) => done(null)); // the handler reads bodies itself
    app.all("/*", (request: { raw: PortRequest }, reply: FastifyReply) => {
      let isPassed = false;
      const answered = handler(request.raw, reply.raw, () => {
        isPassed = true;
      });
      if (isPassed) return reply.callNotFound();
      reply.hijack();
      return answered;
    });
  };
}

interface FastifyReply {
  readonly raw: PortResponse;
  callNotFound(): unknown;
  hijack(): unknown;
}
