/** Connections of calls over gRPC. */
import { Http2SessionManager } from "@connectrpc/connect-node";

/**
 * Sessions over HTTP/2 whose errors are those of their calls. The manager of Connect stops listening to a session that
 * breaks before the session has told so, which would end the process: a port that speaks HTTP/1.1 alone does that.
 */
export class GrpcSessions extends Http2SessionManager {
  override async request(...call: Parameters<Http2SessionManager["request"]>) {
    const stream = await super.request(...call);
    const { session } = stream;
    if (session?.listeners("error").includes(ignore) === false) session.on("error", ignore);
    return stream;
  }
}

function ignore(): void {}
