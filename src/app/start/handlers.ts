/** The handlers of requests: RPC, REST, and the endpoints of no service. */

import { type DescMethod, getOption, type Message } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.ts";
import { iam_scope } from "../../../gen/platform/annotations/annotations_pb.ts";
import type { CertificateTokens } from "../../auth/index.ts";
import { valuesWithAddress } from "../../call/index.ts";
import { storedFormat } from "../../codec/index.ts";
import { flagOf } from "../../config/index.ts";
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
import { createRestHandler, type FieldPath, writeStatus } from "../../rest/index.ts";
import {
  type createHealth,
  createRpcHandler,
  mountHealth,
  mountReflection,
  pathOf,
  setHeaders,
} from "../../rpc/index.ts";
import { createScim, scimPath } from "../../scim/index.ts";
import { createTokenExchange } from "../../services/index.ts";
import { createSts } from "../../sts/index.ts";
import { handleCors, setCorsHeaders } from "../cors.ts";
import { createEndpoints } from "../endpoints.ts";
import { openPages } from "../pages.ts";
import { answerHeaders, identify } from "../request-id.ts";
import { createSenderCheck } from "../sender-check.ts";
import { type AddressLimits, limitAddresses } from "./address-limits.ts";
import type { Calls } from "./calls.ts";
import type { StartContext } from "./context.ts";
import { faultHeader } from "./faults.ts";
import { overloadAnswer } from "./overload.ts";
import type { Parts } from "./parts.ts";
import { createPayers, type RequestPayers } from "./payers.ts";
import type { RequestHandlers, ServerPort } from "./port.ts";

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

/** Builds the handlers. */
export async function buildHandlers(options: HandlersOptions): Promise<RequestHandlers> {
  const { context, port, calls } = options;
  port.bodies.check = createSenderCheck({ ...calls, identify });
  const { live } = context;
  const payers = createPayers(calls.authenticator, port.pause);
  port.bodies.turn = (authorization) => {
    const payer = payers.payerOf(authorization, undefined);
    return payer.isKnown === true ? port.pause(payer) : undefined;
  };
  const scim = buildScim(options, payers);
  const isKnown = ({ url, headers: { authorization } }: HttpRequest) =>
    url?.startsWith(`${scimPath}/`)
      ? payers.ofProviders.payerOf(authorization) !== undefined
      : calls.authenticator.isKnown(authorization);
  const limits = limitAddresses(context, isKnown, probes);
  const { admits } = limits;
  const { rpc, rest } = buildProtocols(options, limits);
  const endpoints = new Map(Object.entries(await buildEndpoints(options)));
  const refuse = overloadAnswer(context.api, context.config.serviceHost);

  const endpointOf = (path: string) => {
    if (path.startsWith(`${scimPath}/`)) return scim;
    return endpoints.get(path) ?? (path.startsWith(`${consolePath}/`) ? endpoints.get(consolePath) : undefined);
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
  ) => bodies.watch(request, response, isOpen(method) ? "anybody" : method);
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
    limits: { readMaxBytes: maxRequestBytes },
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

/** The endpoint of provisioning clients. */
function buildScim({ context, port, parts, calls, baseUrl }: HandlersOptions, payers: RequestPayers) {
  const { config, now } = context;
  const { database, audit, events } = parts;
  return createScim({
    database,
    calls: calls.endpointCalls,
    payers: payers.ofProviders,
    baseUrl,
    bodies: port.bodies,
    maxBodyBytes: config.maxRequestBytes,
    now,
    async record(session, { scope, recordOf }, uid, changes) {
      await audit.append(session, recordOf(uid));
      await events.recordChanges(session, changes, { subject: scope, claims: noClaims }, now());
    },
  });
}

/** A provisioning client has a token without claims. */
const noClaims = { iss: "", sub: "", aud: [], exp: 0 };

/** The endpoints of no service, by path. */
async function buildEndpoints({ context, port, parts, calls, baseUrl, unreadiness }: HandlersOptions) {
  const { config, log, api, now, stack } = context;
  const { serviceHost } = config;
  const { services, contract, registry } = api;
  const { bodies } = port;
  const { database, availability, issuer, environment, audit, events } = parts;
  const reportOutage = availability.report;
  const onError = (error: unknown, response: PortResponse) => {
    const described = callersError(error);
    reportOutage(error);
    if (described.code === Code.Internal) log.error({ err: error }, "bug");
    void writeStatus(response, completeError(described, serviceHost, undefined), { registry });
  };
  const endpoints = createEndpoints({ issuer, unreadiness, onProbe: () => context.probing.note(), onError });
  const pages =
    config.pages === "on"
      ? openPages({ services: api.descriptors, baseUrl, issuers: config.consoleIssuers, onError })
      : {};
  const sts = createSts({
    exchange: createTokenExchange({
      database,
      issuer,
      authenticator: calls.authenticator,
      onUse: calls.onUse,
      baseUrl,
      now,
    }),
    registry,
    serviceHost,
    baseUrl,
    reportOutage,
    log,
    audit,
    bodies,
    now,
  });
  const notifications = await openNotifications(config, {
    operator: { services, contract, database, environment, audit, events, now },
    recordEvent: events.recordRegistryEvent,
    types: registry,
    bodies,
    serviceHost,
    reportOutage,
    log,
  });
  stack.defer(() => notifications?.close());
  return { ...endpoints, ...pages, ...sts, ...notifications?.endpoints };
}

/** Whether a call asks for a whole list: one of v1, without the id of one item. */
function isWholeList({ parent, output }: DescMethod, request: Message): boolean {
  if (!parent.file.proto.package.endsWith(".v1")) return false;
  const [items, ...others] = output.fields;
  return items?.fieldKind === "list" && others.length === 0 && !(request as Message & { id?: string }).id;
}

/** Whether a field of a request holds a uid and nothing else. An artifact may also be named by its id. */
function holdsUid(path: FieldPath): boolean {
  const { type } = getOption(path.at(-1)!, resource_reference);
  const isOfResource = type !== "" && type !== "libraries.platform.internal/Artifact";
  return isOfResource || path.some((field) => getOption(field, iam_scope));
}
