/** Verifies the senders of bodies by the tokens of their calls. A refusal is logged and audited as that of a call. */

import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Authenticator } from "../auth/index.ts";
import { tryChain } from "../awaitable.ts";
import { type LocalTransport, PlainHeaders, type Protocol, valuesWithAddress } from "../call/index.ts";
import { addressOf, type SenderCheck } from "../http/index.ts";
import type { HttpRequest } from "../message/index.ts";
import { pathOf } from "../rpc/index.ts";
import { identify } from "./request-id.ts";

/** What {@link createSenderCheck} needs. */
export interface SenderCheckParts {
  readonly authenticator: Authenticator;
  readonly transport: Pick<LocalTransport, "for">;
}

/** Creates the check of a server. */
export function createSenderCheck({ authenticator, transport }: SenderCheckParts): SenderCheck {
  return {
    verify(request, response, method) {
      const { headers } = request;
      return tryChain(
        () => authenticator.authenticate(headers.authorization ?? null),
        () => {},
        (error) => {
          identify(headers);
          const { refuse } = transport.for(protocolOf(request, method as DescMethodUnary));
          const values = valuesWithAddress(() => addressOf(request, response));
          return refuse(method as DescMethodUnary, new PlainHeaders(headers), error, values);
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

function protocolOf(request: HttpRequest, { parent }: DescMethodUnary): Protocol {
  const contentType = request.headers["content-type"] ?? "";
  if (contentType.startsWith("application/grpc-web")) return "grpc-web";
  if (contentType.startsWith("application/grpc")) return "grpc";
  return pathOf(request).startsWith(`/${parent.typeName}/`) ? "connect" : "rest";
}
