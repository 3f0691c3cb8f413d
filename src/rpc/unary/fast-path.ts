/**
 * What the fast paths of gRPC and Connect have in common. A fast path decides by the header fields of a call whether it
 * takes it. A body that then turns out not to be simple falls back, with the bytes that were read, to Connect's
 * protocol handlers, so that a fast path needs no protocol errors of its own. It does refuse a message that cannot be
 * decoded: the handlers would decode it with the same codecs.
 */

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { DescMethod, DescMethodUnary, Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { tryChain } from "../../awaitable.ts";
import {
  type BegunCall,
  type LocalAnswer,
  type LocalTransport,
  PlainHeaders,
  type Protocol,
} from "../../call/index.ts";
import { internal } from "../../errors.ts";
import { unverifiedBytes } from "../../http/index.ts";
import type { Deadline, HttpRequest, HttpResponse } from "../../message/index.ts";
import type { UnaryMethod } from "./methods.ts";

/** What a fast path is made from. */
export interface FastPathOptions {
  readonly transport: LocalTransport;
  readonly methods: ReadonlyMap<string, UnaryMethod>;
  /** Whether a method needs no token. Its messages have at most {@link unverifiedBytes}. */
  isOpen?(method: DescMethod): boolean;
  /** Maximum size of a request message and of a response message, in bytes. */
  readonly readMaxBytes: number;
  readonly writeMaxBytes: number;
  /** Longer time-outs are shortened to this. */
  readonly maxTimeoutMs: number;
  /** The header fields of every answer. May complete those of the request. */
  answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders;
  /** The values a call starts with. */
  contextValues?(request: HttpRequest, response: HttpResponse): ContextValues;
  /** Completes an error in place before it is sent. */
  describeError(error: ConnectError, method: DescMethod): void;
  /** Reports what kept an answer from being made or sent. */
  onError(error: unknown): void;
}

/** Maximum size of a request message of a method, in bytes. */
export function readMaxBytesOf(
  { isOpen, readMaxBytes }: Pick<FastPathOptions, "isOpen" | "readMaxBytes">,
  method: DescMethod,
): number {
  return isOpen?.(method) ? Math.min(unverifiedBytes, readMaxBytes) : readMaxBytes;
}

/** Errors: RESOURCE_EXHAUSTED for a response message that is too long to be sent. */
export function checkLength(length: number, { writeMaxBytes }: Pick<FastPathOptions, "writeMaxBytes">): void {
  if (length > writeMaxBytes)
    throw new ConnectError(`the answer has ${length} bytes, more than ${writeMaxBytes}`, Code.ResourceExhausted);
}

/** A request, and how its message is decoded. */
export interface UnaryRequest {
  readonly method: DescMethodUnary;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly deadline: Deadline | undefined;
  /** Decodes `content`. Errors: INVALID_ARGUMENT. */
  read(content: Uint8Array): Message;
  readonly content: Uint8Array;
}

/** Begins a call, which has failed already if its message cannot be decoded. */
export function beginCall(
  { transport, contextValues }: FastPathOptions,
  protocol: Protocol,
  { method, request, response, deadline, read, content }: UnaryRequest,
): BegunCall {
  let message: Message;
  try {
    message = read(content);
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const touched = { touchedHeader: undefined, touchedTrailer: undefined };
    return { answer: Promise.reject(error), touched, cancel() {} };
  }
  const header = new PlainHeaders(request.headers);
  const values = contextValues?.(request, response);
  return transport.for(protocol).begin(method, message, header, deadline?.leftMs(), undefined, values);
}

/** How a fast path ends a call. */
export interface Ending {
  answer(answer: LocalAnswer): unknown;
  refuse(error: ConnectError): unknown;
  /** Called when neither could be sent. */
  giveUp(): void;
}

/** Answers a call, refuses it, or gives up. */
export function endCall(options: FastPathOptions, method: DescMethod, call: BegunCall, ending: Ending): void {
  if (call.answer instanceof Promise)
    void call.answer.then(
      (answer) => send(options, method, answer, ending),
      (reason) => refuse(options, method, reason, ending),
    );
  else send(options, method, call.answer, ending);
}

function send(options: FastPathOptions, method: DescMethod, answer: LocalAnswer, ending: Ending): void {
  try {
    const sent = ending.answer(answer);
    if (sent instanceof Promise) sent.catch((reason) => refuse(options, method, reason, ending));
  } catch (reason) {
    refuse(options, method, reason, ending);
  }
}

function refuse(
  { describeError, onError }: FastPathOptions,
  method: DescMethod,
  reason: unknown,
  ending: Ending,
): void {
  void tryChain(
    () => {
      if (!(reason instanceof ConnectError)) onError(reason);
      const error = reason instanceof ConnectError ? reason : internal(reason);
      describeError(error, method);
      return ending.refuse(error);
    },
    () => {},
    (error) => {
      onError(error);
      ending.giveUp();
    },
  );
}
