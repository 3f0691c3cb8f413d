/** Ping: whether the server can be reached. */
import { PingService } from "../../../gen/platform/ping/v2/ping_pb.ts";
import { implement } from "../../resource/index.ts";

export const pingService = implement(PingService, {}, { ping: () => ({ response: "pong" }) });
