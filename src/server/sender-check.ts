/** How the senders of bodies are verified: by the token that authenticates their calls. A refusal is logged and audited as that of a call. */
import type { IncomingHttpHeaders } from "node:http";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Authenticator } from "../auth/index.ts";
import { settle } from "../eventually.ts";
import type { SenderCheck } from "./incoming-bodies.ts";
import type { LocalTransport } from "./local-transport.ts";
import { PlainHeaders } from "./plain-headers.ts";

/** What {@link createSenderCheck} needs. */
export interface SenderCheckParts {
  readonly authenticator: Authenticator;
  readonly transport: Pick<LocalTransport, "refuse">;
  /** Makes sure that a request has its id. */
  identify(headers: IncomingHttpHeaders): unknown;
}

/** The check of a server. */
export function createSenderCheck({ authenticator, transport, identify }: SenderCheckParts): SenderCheck {
  return {
    verify({ headers }, method) {
      return settle(
        () => authenticator.authenticate(headers.authorization ?? null),
        () => {},
        (error) => {
          identify(headers);
          return transport.refuse(method as DescMethodUnary, new PlainHeaders(headers), error);
        },
      );
    },
    isVerified(authorization) {
      if (authorization === undefined) return false;
      return (
        settle<unknown, boolean>(
          () => authenticator.authenticate(authorization),
          () => true,
          () => false,
        ) === true
      );
    },
  };
}
