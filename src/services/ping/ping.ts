/** Ping: a method to check that the server is up. */
import { PingService } from "../../../gen/platform/ping/v2/ping_pb.ts";
import { implement } from "../../resource/index.ts";

export const pingService = implement(PingService, [], { ping: () => ({ response: "pong" }) });
