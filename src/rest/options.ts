/** What a REST handler is built from. */

import type { OutgoingHttpHeaders } from "node:http";
import type { DescMethodServerStreaming, DescMethodUnary, DescService, Message, Registry } from "@bufbuild/protobuf";
import type { ConnectError, Transport } from "@connectrpc/connect";
import type { Awaitable } from "../awaitable.ts";
import type { MessageParts, StoredMessage } from "../codec/index.ts";
import type { BodyWatch, HttpRequest, HttpResponse } from "../message/index.ts";
import type { FieldPath } from "./field-path.ts";
import type { SlashInMultiSegment } from "./path.ts";

/** What a REST handler is built from. */
export interface RestOptions {
  /** Carries out the calls. A transport with `begin` makes headers and signals only when somebody reads them. */
  readonly transport: Transport & Partial<DirectCalls>;
  /** The services whose `google.api.http` annotations are served. */
  readonly services: Iterable<DescService>;
  /** Finds the types of google.protobuf.Any values and of error details. */
  readonly registry: Registry;
  /** Beyond these a request is refused with 413 or 414. */
  readonly limits?: {
    /** Bytes of a request body, before and after decompression, of all methods or of each; default 1 MiB. */
    readonly maxBodyBytes?: number | ((method: RestMethod) => number) | undefined;
    /** Length of the request target in bytes; default 8 KiB. */
    readonly maxUrlBytes?: number | undefined;
    /** How long a client may take for a piece of a streamed response; default 60 s. Then the response is broken off. */
    readonly stallMs?: number | undefined;
    /** The settings that hold these limits, such as `--max-body`, to be named in errors. */
    readonly settings?: { readonly body: string; readonly url: string } | undefined;
  };
  /** The header fields of every response to a request. Called once, before anything else is done with the request. */
  answerHeaders?(request: HttpRequest): OutgoingHttpHeaders;
  /**
   * Whether the value of a field that is captured from the path may contain a colon; default yes. Where it may not, the
   * text after a colon at the end of the path is a verb, and a path with an unknown verb is unknown.
   */
  mayHaveColon?(field: FieldPath): boolean;
  /** Returns what decides about the body of a request while it is received; undefined for nothing. */
  watchBody?(request: HttpRequest, response: HttpResponse, method: RestMethod): BodyWatch | undefined;
  /**
   * Completes every error before it is written, for instance with an ErrorInfo. An error that is no ConnectError comes
   * as INTERNAL, with a fixed message and the original as its cause. `method` is undefined when no route matches.
   */
  describeError?(error: ConnectError, method: RestMethod | undefined): ConnectError;
  /**
   * Whether the answer to a request may come in parts; default no. It then takes the way of streams, which costs more.
   * The response of such a method has one field, a list of messages.
   */
  mayAnswerInParts?(method: RestMethod, request: Message): boolean;
  /** Takes what broke off an answer in parts, of which the client has seen some. */
  onBrokenAnswer?(error: unknown, method: RestMethod): void;
  /** Skip unknown keys of a body instead of refusing them. */
  readonly ignoreUnknownFields?: boolean | undefined;
  /** Skip unknown query parameters instead of refusing them. */
  readonly ignoreUnknownParameters?: boolean | undefined;
  /** Put errors into a member `error`, as in AIP-193. */
  readonly wrapErrors?: boolean | undefined;
  /** How `%2F` in a capture of several segments is treated; default `keep`, as in http.proto. */
  readonly slashInMultiSegment?: SlashInMultiSegment | undefined;
  /**
   * The host passes requests with `Expect: 100-continue` to the handler (by the `checkContinue` event, for instance):
   * send `100 Continue` once the headers are accepted.
   */
  readonly sendsContinue?: boolean | undefined;
}

/** A method that is served over REST. */
export type RestMethod = DescMethodUnary | DescMethodServerStreaming;

/** Starts unary calls in this process. */
export interface DirectCalls {
  begin(
    method: DescMethodUnary,
    message: Message,
    header: Pick<Headers, "get">,
    timeoutMs: number | undefined,
    caller?: { readonly takesParts: boolean },
  ): {
    readonly answer: Awaitable<DirectAnswer>;
    /** Ends the call, because the client has disconnected. */
    cancel(): void;
  };
}

/** The response to a call that was started directly. */
interface DirectAnswer {
  readonly message: Message | StoredMessage | MessageParts;
  /** The header and the trailer of the response; undefined where nobody has touched them. */
  readonly touchedHeader: Headers | undefined;
  readonly touchedTrailer: Headers | undefined;
}
