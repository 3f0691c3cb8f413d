/** The handler as a middleware of Koa. */
import type { PortRequest, PortResponse } from "../../message/index.ts";
import { createRestHandler } from "../handler.ts";
import type { RestOptions } from "../options.ts";

/** What the middleware uses of a context of Koa. */
interface KoaContext {
  readonly req: PortRequest & { body?: unknown };
  readonly res: PortResponse;
  readonly request: { readonly body?: unknown };
  respond?: boolean;
}

/**
 * A middleware of Koa that serves all annotated methods. A request that no method has path and HTTP method of is left
 * to the next one. A body that a parser before it has left in `request.body` is understood.
 * Errors: as `createRestHandler`.
 */
export function restMiddleware(
  options: RestOptions,
): (context: KoaContext, next: () => Promise<unknown>) => Promise<void> {
  const handler = createRestHandler(options);
  return async (context, next) => {
    const { req, res, request } = context;
    if (request.body !== undefined) req.body = request.body;
    let isPassed = false;
    const answered = handler(req, res, () => {
      isPassed = true;
    });
    if (isPassed) return void (await next());
    context.respond = false;
    await answered;
  };
}
