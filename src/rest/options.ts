/** What a REST handler is built from, and what its hooks are given. */

import type { OutgoingHttpHeaders } from "node:http";
import type { DescMethodUnary, DescService, Message, Registry } from "@bufbuild/protobuf";
import type { ConnectError, ContextValues, Transport } from "@connectrpc/connect";
import type { Awaitable } from "../awaitable.ts";
import type { JsonFormat, MessageParts, StoredMessage } from "../codec/index.ts";
import type { BodyWatch, HttpRequest, HttpResponse } from "../message/index.ts";
import type { EventOptions } from "./answer/events.ts";
import type { BindingOptions, RestMethod } from "./binding.ts";
import type { CorsOptions } from "./cors.ts";
import type { FieldPath } from "./field-path.ts";
import type { HeaderMatcher } from "./headers.ts";
import type { SlashInMultiSegment } from "./path.ts";
import type { ErrorShape } from "./status.ts";

/** What a REST handler is built from. */
export interface RestOptions extends BindingOptions {
  /** Carries out the calls. A transport with `begin` makes headers and signals only when somebody reads them. */
  readonly transport: Transport & Partial<DirectCalls>;
  /** The services whose methods are served: those with a `google.api.http` annotation or one of `httpRules`. */
  readonly services: Iterable<DescService>;
  /**
   * Finds the types of google.protobuf.Any values and of error details; default: all types of the files of the services
   * and of what these import, and those of google.rpc for error details.
   */
  readonly registry?: Registry | undefined;
  /** Path before all templates, such as `/api`; default none. */
  readonly basePath?: string | undefined;
  /** Beyond these a request is refused with 413 or 414. */
  readonly limits?: {
    /** Bytes of a request body, before and after decompression, of all methods or of each; default 1 MiB. */
    readonly maxBodyBytes?: number | ((method: RestMethod) => number) | undefined;
    /**
     * Bytes of all pieces of a client stream of google.api.HttpBody, before and after decompression, of all methods or
     * of each; default none.
     */
    readonly maxStreamBytes?: number | ((method: RestMethod) => number) | undefined;
    /** Length of the request target in bytes; default 8 KiB. */
    readonly maxUrlBytes?: number | undefined;
    /** How long a client may take for a piece of a streamed response; default 60 s. Then the response is broken off. */
    readonly stallMs?: number | undefined;
    /** The settings that hold these limits, such as `--max-body`, to be named in errors. */
    readonly settings?: { readonly body: string; readonly url: string } | undefined;
  };
  /**
   * Milliseconds after which a call ends with DEADLINE_EXCEEDED, of all methods or of each; default none. A client may
   * ask for less by `x-server-timeout`, in seconds.
   */
  readonly timeoutMs?: number | ((method: RestMethod) => number | undefined) | undefined;
  /**
   * Media types of bodies, in lower case, that are read as JSON besides `application/json`, such as
   * `application/merge-patch+json`; default none.
   */
  readonly jsonTypes?: readonly string[] | undefined;
  /**
   * Bodies may also be in the wire format of protobuf, as `application/x-protobuf` or `application/protobuf`: those of
   * requests by `Content-Type`, those of answers that are one message by `Accept`; default no.
   */
  readonly protobufBodies?: boolean | undefined;
  /** Take a body of `{}` where a rule has none, as many clients send it; default no. Any other is refused. */
  readonly acceptEmptyObject?: boolean | undefined;
  /** How answers are written; default: ProtoJSON without options. */
  readonly json?: JsonFormat | undefined;
  /** The answer that is a google.protobuf.Empty: `{}`, or no content; default `object`. */
  readonly emptyAnswer?: "object" | "nothing" | undefined;
  /** How server streams are written for clients that accept `text/event-stream`. */
  readonly events?: EventOptions | undefined;
  /** The form of errors; default `flat`. */
  readonly errors?: ErrorShape | undefined;
  /** Which pages of other origins may call; default none. */
  readonly cors?: CorsOptions | undefined;
  /** The header fields of every response to a request. Called once, before anything else is done with the request. */
  answerHeaders?(request: HttpRequest): OutgoingHttpHeaders;
  /**
   * The name under which a field of the request header is passed to the call; undefined for not at all. Fields of the
   * connection, of the content and of the protocols gRPC and Connect are never passed. Default: all others, as they
   * are.
   */
  readonly requestHeader?: HeaderMatcher | undefined;
  /** The name under which a header or trailer field of the call is sent to the client; undefined for not at all. */
  readonly responseHeader?: HeaderMatcher | undefined;
  /** The context values of a call: interceptors of the transport, and services of `fromRouter`, see them. */
  contextValues?(request: HttpRequest, response: HttpResponse): ContextValues;
  /** Called when a request has been routed, for metrics. */
  onMatch?(match: RestMatch, request: HttpRequest, response: HttpResponse): void;
  /** Completes or replaces the answer of a unary call that succeeded. */
  rewriteAnswer?(answer: RestAnswer, call: AnsweredCall): RestAnswer;
  /**
   * Whether the value of a field that is captured from the path may contain a colon; default yes. Where it may not, the
   * text after a colon at the end of the path is a verb, and a path with an unknown verb is unknown.
   */
  mayHaveColon?(field: FieldPath): boolean;
  /** Returns what decides about the body of a request while it is received; undefined for nothing. */
  watchBody?(request: HttpRequest, response: HttpResponse, method: RestMethod): BodyWatch | undefined;
  /**
   * Completes every error before it is written, for instance with an ErrorInfo. An error that is not a ConnectError
   * comes as INTERNAL, with a fixed message and the original as its cause. `method` is undefined when no route matches.
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
  /** How `%2F` in a capture of several segments is treated; default `keep`, as in http.proto. */
  readonly slashInMultiSegment?: SlashInMultiSegment | undefined;
  /**
   * The host passes requests with `Expect: 100-continue` to the handler (by the `checkContinue` event, for instance):
   * send `100 Continue` once the headers are accepted.
   */
  readonly sendsContinue?: boolean | undefined;
}

/** The options with their defaults, as the parts of the handler take them. */
export type CompleteOptions = RestOptions & { readonly registry: Registry };

/** What a request was routed to. */
export interface RestMatch {
  readonly method: RestMethod;
  /** The HTTP method and the template of the binding: `GET`, `/v1/repos/{uid}`. */
  readonly httpMethod: string;
  readonly template: string;
}

/** The answer of a unary call, complete but for its coding and length. */
export interface RestAnswer {
  readonly httpStatus: number;
  readonly headers: OutgoingHttpHeaders;
  /** JSON text, a protobuf message in the wire format, or the data of a google.api.HttpBody. */
  readonly body: string | Uint8Array;
}

/** The call that an answer belongs to. */
export interface AnsweredCall {
  readonly method: RestMethod;
  readonly request: HttpRequest;
  /** The response message. */
  readonly message: Message;
}

/** Starts unary calls in this process. */
export interface DirectCalls {
  begin(
    method: DescMethodUnary,
    message: Message,
    header: Pick<Headers, "get">,
    timeoutMs: number | undefined,
    caller?: { readonly takesParts: boolean },
    contextValues?: ContextValues,
  ): {
    readonly answer: Awaitable<DirectAnswer>;
    /** Ends the call, because the client has disconnected. */
    cancel(): void;
  };
}

/** The response to a call that was started directly. */
export interface DirectAnswer {
  readonly message: Message | StoredMessage | MessageParts;
  /** The header and the trailer of the response; undefined where nobody has touched them. */
  readonly touchedHeader: Headers | undefined;
  readonly touchedTrailer: Headers | undefined;
}
