/** The handlers of requests: RPC, REST, and the endpoints of no service. */

import type { DescMethod } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.ts";
import type { CertificateTokens } from "../../auth/index.ts";
import { valuesWithAddress } from "../../call/index.ts";
import { storedFormat } from "../../codec/index.ts";
import { flagOf } from "../../config/index.ts";
import { holdsUid } from "../../contract/index.ts";
import { completeError } from "../../errors.ts";
import { addressOf, clientCertificateOf, unverifiedBytes } from "../../http/index.ts";
import {
  type BufferedRequest,
  type BufferedResponse,
  type HttpRequest,
  type HttpResponse,
  isBuffered,
  type PortRequest,
  type PortResponse,
} from "../../message/index.ts";
import { consolePath } from "../../pages/index.ts";
import { callersError } from "../../pipeline/index.ts";
import { openNotifications } from "../../registry-sync/index.ts";
import { createRestHandler } from "../../rest/index.ts";
import {
  type createHealth,
  createRpcHandler,
  mountHealth,
  mountReflection,
  pathOf,
  setHeaders,
} from "../../rpc/index.ts";
import { createScim, type ScimPayers, scimPath } from "../../scim/index.ts";
import { maxUploadBytes, TokenExchange } from "../../services/index.ts";
import { createSts } from "../../sts/index.ts";
import { isWholeList } from "../../translation/index.ts";
import { handleCors, setCorsHeaders } from "../cors.ts";
import { createEndpoints } from "../endpoints.ts";
import { openPages } from "../pages.ts";
import { answerHeaders } from "../request-id.ts";
import { createSenderCheck } from "../sender-check.ts";
import { type AddressLimits, limitAddresses } from "./address-limits.ts";
import type { Calls } from "./calls.ts";
import type { StartContext } from "./context.ts";
import { faultHeader } from "./faults.ts";
import { overloadAnswer } from "./overload.ts";
import type { Parts } from "./parts.ts";
import { createPayers } from "./payers.ts";
import type { ServerPort } from "./port.ts";
import type { RequestHandlers } from "./port-handlers.ts";

/** What {@link buildHandlers} needs. */
export interface HandlersOptions {
  readonly context: StartContext;
  readonly port: ServerPort;
  readonly parts: Parts;
  readonly calls: Calls;
  readonly health: ReturnType<typeof createHealth>;
  readonly baseUrl: string;
  /** Why the server takes no calls now; undefined while it does. */
  unreadiness(): string | undefined;
}

/** The endpoints that are served while the server is overloaded. */
const probes = new Set(["/livez", "/readyz"]);
/** The beginnings of all paths of these endpoints. */
const scimPaths = `${scimPath}/`;
const consolePaths = `${consolePath}/`;

/** Builds the handlers. */
export function buildHandlers(options: HandlersOptions): RequestHandlers {
  const { context, port, calls } = options;
  port.bodies.check = createSenderCheck(calls);
  const { live } = context;
  const payers = createPayers(calls.authenticator, port.pause);
  port.bodies.turn = (authorization) => {
    const payer = payers.payerOf(authorization, undefined);
    return payer.isKnown === true ? port.pause(payer) : undefined;
  };
  const limits = limitAddresses(context, payers.isKnown, probes);
  const { admits } = limits;
  const { rpc, rest } = buildProtocols(options, limits);
  const endpoints = new Map(Object.entries(buildEndpoints(options, payers.ofProviders)));
  const refuse = overloadAnswer(context.api, context.config.serviceHost);

  const endpointOf = (path: string) => {
    if (path.startsWith(scimPaths)) return endpoints.get(scimPaths);
    return endpoints.get(path) ?? (path.startsWith(consolePaths) ? endpoints.get(consolePath) : undefined);
  };
  const addToken = addTokens(calls.certificates);
  const faultHeaders = context.config.ephemeral ? [faultHeader] : [];

  function onBufferedRequest(request: BufferedRequest, response: BufferedResponse): void {
    const path = pathOf(request);
    if (endpointOf(path) !== undefined) {
      response.fallBack();
      return;
    }
    addToken?.(request, response);
    const { corsOrigins } = live.current;
    if (corsOrigins.length > 0) {
      setHeaders(response, answerHeaders(request.headers));
      setCorsHeaders(corsOrigins, request, response);
    }
    if (!admits(request, response)) return;
    if (!rpc.handleBuffered(path, request, response)) void rest(request, response);
  }

  function onRequest(request: PortRequest, response: PortResponse): void {
    const { corsOrigins } = live.current;
    if (corsOrigins.length > 0) {
      setHeaders(response, answerHeaders(request.headers));
      if (handleCors(corsOrigins, request, response, faultHeaders)) return;
    }
    const path = pathOf(request);
    const endpoint = endpointOf(path);
    if (endpoint === undefined) addToken?.(request, response);
    if (!admits(request, response)) return;
    if (rpc.handle(path, request, response)) return;
    if (endpoint !== undefined) {
      setHeaders(response, answerHeaders(request.headers));
      if (endpoint(request, response)) return;
    }
    void rest(request, response);
  }

  return {
    onRequest,
    onBufferedRequest,
    onOverload(request, response) {
      const { corsOrigins } = live.current;
      if (corsOrigins.length > 0) setCorsHeaders(corsOrigins, request, response);
      if (!probes.has(pathOf(request))) {
        context.overload.report("max-queue-delay");
        refuse(request, response);
      } else if (isBuffered(response)) response.fallBack();
      else onRequest(request as PortRequest, response);
    },
    planFastPath(head) {
      const serve = rpc.planFastPath(head, onBufferedRequest);
      if (serve === undefined || serve === onBufferedRequest) return serve;
      return (request, response) => {
        addToken?.(request, response);
        if (admits(request, response)) serve(request, response);
      };
    },
    payerOf: payers.payerOf,
    onRead: () => options.parts.database.refresh(),
  };
}

/**
 * What gives a call without an `Authorization` header the token that stands for the certificate of its client.
 * Endpoints have tokens of their own, so they are left out. Undefined: nothing does.
 */
function addTokens(
  certificates: CertificateTokens | undefined,
): ((request: HttpRequest, response: HttpResponse) => void) | undefined {
  if (certificates === undefined) return undefined;
  return (request, response) => {
    const { headers } = request;
    if (headers.authorization !== undefined) return;
    const certificate = clientCertificateOf(request, response);
    const header = certificate && certificates.headerFor(certificate);
    if (header !== undefined) headers.authorization = header;
  };
}

/** The handlers of the contract's methods. */
function buildProtocols({ context, port, parts, calls, health }: HandlersOptions, limits: AddressLimits) {
  const { config, log, api } = context;
  const { maxRequestBytes, maxUrlBytes, serviceHost } = config;
  const { descriptors, contract, registry } = api;
  const { bodies, refusalBody } = port;
  const { availability } = parts;
  const { transport } = calls;
  const withToken = new Set(
    contract.methods.flatMap(({ method, authorization }) => (authorization.kind === "open" ? [] : [method])),
  );
  const isOpen = (method: DescMethod) => !withToken.has(method);
  const watchBody = (
    request: PortRequest | BufferedRequest,
    response: PortResponse | BufferedResponse,
    method: DescMethod,
  ) => bodies.watch(request, response, isOpen(method) ? "anybody" : method, method.methodKind === "client_streaming");
  const contextValues = (request: HttpRequest, response: HttpResponse) =>
    valuesWithAddress(() => addressOf(request, response));
  const describeError = (error: ConnectError, method: DescMethod | undefined) =>
    completeError(error, serviceHost, method?.parent.typeName.split(".")[1]);
  const rest = createRestHandler({
    transport: transport.for("rest"),
    services: descriptors,
    registry,
    json: storedFormat,
    emptyAnswer: "nothing",
    answerHeaders: ({ headers }) => answerHeaders(headers),
    contextValues,
    describeError,
    watchBody,
    limits: {
      maxBodyBytes: (method) => (isOpen(method) ? unverifiedBytes : maxRequestBytes),
      maxStreamBytes: maxUploadBytes,
      maxUrlBytes,
      settings: { body: flagOf("maxRequestBytes"), url: flagOf("maxUrlBytes") },
    },
    mayAnswerInParts: isWholeList,
    onBrokenAnswer(error, { name }) {
      availability.report(error);
      const isBug = callersError(error).code === Code.Internal;
      log[isBug ? "error" : "debug"]({ err: error, method: name }, isBug ? "bug" : "answer broken off");
    },
    slashInMultiSegment: "decode",
    mayHaveColon: (field) => !holdsUid(field),
  });
  const rpc = createRpcHandler({
    transport,
    services: descriptors,
    registry,
    fastPath: config.fastPath === "on",
    limits: { readMaxBytes: maxRequestBytes, writeMaxBytes: maxUploadBytes + unverifiedBytes },
    mount: (router) => {
      mountHealth(router, health);
      mountReflection(router, [{ file: file_google_rpc_error_details }]);
    },
    answerHeaders,
    contextValues,
    describeError,
    watchBody,
    watchMessages: limits.watchMessages,
    isOpen,
    isVerified: ({ authorization }) => bodies.check.isVerified(authorization),
    refusalBody,
    onError: (error) => log.debug({ err: error }, "response not sent"),
  });
  return { rpc, rest };
}

/** The endpoints of no service, by path. */
function buildEndpoints(
  { context, port, parts, calls, baseUrl, unreadiness }: HandlersOptions,
  ofProviders: ScimPayers,
) {
  const { config, log, api, now, stack } = context;
  const { services, contract, descriptors } = api;
  const { bodies } = port;
  const { database, issuer, environment, audit, events } = parts;
  const { authenticator, onUse, endpointCalls } = calls;
  const onError = endpointCalls.fail.bind(endpointCalls);
  const probed = createEndpoints({ issuer, unreadiness, onProbe: () => context.probing.note(), onError });
  const pages =
    config.pages === "on" ? openPages({ services: descriptors, baseUrl, issuers: config.consoleIssuers, onError }) : {};
  const exchange = new TokenExchange({ database, issuer, authenticator, onUse, baseUrl, now });
  const sts = createSts({ calls: endpointCalls, exchange, baseUrl, bodies, now });
  const scim = createScim({
    calls: endpointCalls,
    database,
    events,
    payers: ofProviders,
    baseUrl,
    bodies,
    maxBodyBytes: config.maxRequestBytes,
    now,
  });
  const notifications = openNotifications(config, {
    operator: { services, contract, database, environment, audit, events, now },
    calls: endpointCalls,
    recordEvent: events.recordRegistryEvent,
    bodies,
    log,
  });
  stack.defer(() => notifications?.close());
  return { ...probed, ...pages, ...sts, ...notifications?.endpoints, [scimPaths]: scim };
}
