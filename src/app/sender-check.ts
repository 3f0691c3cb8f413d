/** Verifies the senders of bodies by the tokens of their calls. A refusal is logged and audited as that of a call. */

import type { IncomingHttpHeaders } from "node:http";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Authenticator } from "../auth/index.ts";
import { tryChain } from "../awaitable.ts";
import { type LocalTransport, PlainHeaders } from "../call/index.ts";
import type { SenderCheck } from "../http/index.ts";

/** What {@link createSenderCheck} needs. */
export interface SenderCheckParts {
  readonly authenticator: Authenticator;
  readonly transport: Pick<LocalTransport, "refuse">;
  /** Adds an id to a request without one. */
  identify(headers: IncomingHttpHeaders): unknown;
}

/** Creates the check of a server. */
export function createSenderCheck({ authenticator, transport, identify }: SenderCheckParts): SenderCheck {
  return {
    verify({ headers }, method) {
      return tryChain(
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
        tryChain<unknown, boolean>(
          () => authenticator.authenticate(authorization),
          () => true,
          () => false,
        ) === true
      );
    },
  };
}
