/** Builds the server, part by part, and takes it apart in reverse. */
import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { createRegistry, type DescMethod, getOption } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { resource_reference } from "../../gen/google/api/resource_pb.ts";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { iam_scope } from "../../gen/platform/annotations/annotations_pb.ts";
import { CapabilitySchema } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { capabilitiesByName, createAuthenticator, createIssuer, createKeySets } from "../auth/index.ts";
import { addEnumNames } from "../codec/index.ts";
import { addressUrlOf, baseUrlOf, type Config, flagOf } from "../config.ts";
import { readContract, warmValidation } from "../contract/index.ts";
import {
  type DeliveryMetrics,
  type Dispatcher,
  forgetDelivered,
  serveMetrics,
  startDispatcher,
} from "../delivery/index.ts";
import { atEdge, unavailable } from "../errors.ts";
import type { Logger } from "../log.ts";
import {
  createRestHandler,
  type FieldPath,
  formatStatus,
  toldLimit,
  type WholeRequest,
  type WholeResponse,
  writeStatus,
} from "../rest/index.ts";
import {
  createServices,
  createTokenExchange,
  grantSource,
  hasSubscriptions,
  identitySource,
  indexIdentities,
  providerSource,
  refreshDerivedRows,
  sessions,
  subscriptionSource,
} from "../services/index.ts";
import { type Database, openDatabase } from "../store/index.ts";
import { createAudit } from "./audit.ts";
import { forgetAudit } from "./audit-log.ts";
import { type Availability, watchAvailability } from "./availability.ts";
import { setHeaders } from "./connect-adapter.ts";
import { handleCors, setCorsHeaders } from "./cors.ts";
import { createEndpoints } from "./endpoints.ts";
import { createEventRecorder } from "./events.ts";
import { createHealth, mountHealth } from "./health.ts";
import { startHousekeeping } from "./housekeeping.ts";
import { idempotentAnswers } from "./idempotency.ts";
import { IncomingBodies, unverifiedBytes } from "./incoming-bodies.ts";
import { type Installation, install, readEnvironment, readInstallation, refreshBuiltIns } from "./installation.ts";
import { createLocalTransport } from "./local-transport.ts";
import { createOnePort, type PortRequest, type PortResponse } from "./one-port.ts";
import { createPipeline } from "./pipeline.ts";
import { mountReflection } from "./reflection.ts";
import { refusalOf } from "./refusals.ts";
import { openNotifications } from "./registry-endpoint.ts";
import { createRpcDoors, pathOf, type RpcDoors } from "./rpc-doors.ts";
import { createSenderCheck } from "./sender-check.ts";
import { listenFailure, readCertificate } from "./start-failure.ts";
import { answerWhileStarting, whenReachable } from "./starting.ts";
import { callersError } from "./store-errors.ts";
import { createSts } from "./sts.ts";

/** How long calls in flight may take to finish once the server stops. */
const graceMs = 10_000;

/** A server that takes calls. */
export interface RunningServer {
  /** Where clients reach it: `https://api.example.com`. */
  readonly baseUrl: string;
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly listenUrl: string;
  /** Set when this start initialised the database. */
  readonly installed: Installation | undefined;
  /** A token of the platform's own for an identity. */
  mintToken(identityUid: string, ttlSeconds: number): Promise<string>;
  /** Stops taking calls, lets those in flight finish for 10 s, closes the database. */
  stop(): Promise<void>;
}

/**
 * Starts the server that `config` describes: opens the port, waits for the database, migrates and if need be initialises it, mounts the services.
 * `signal` ends the waiting. Errors: whatever keeps it from starting, StartFailure where that is the operator's to mend; then nothing is left open.
 */
export async function startServer(config: Config, log: Logger, signal?: AbortSignal): Promise<RunningServer> {
  const now = Date.now;
  const { serviceHost } = config;
  const services = createServices(config);
  const descriptors = services.map(({ service }) => service);
  const contract = readContract(descriptors);
  addEnumNames(CapabilitySchema, capabilitiesByName);
  const registry = createRegistry(...descriptors.map(({ file }) => file), file_google_rpc_error_details);

  const { maxRequestBytes, maxUrlBytes, maxHeaderBytes } = config;
  const headerLimit = toldLimit(maxHeaderBytes, flagOf("maxHeaderBytes"));
  const refusalBody = (httpStatus: number) =>
    formatStatus(atEdge(refusalOf(httpStatus, headerLimit), serviceHost, undefined), registry);
  const shutdown = new AbortController();

  let answer: (request: PortRequest, response: PortResponse) => void = answerWhileStarting(
    refusalBody(503),
    serviceHost,
  );
  let answerPlain = (_request: WholeRequest, response: WholeResponse): void => response.handBack();
  let takePlain: RpcDoors["takePlain"] = () => undefined;
  const onPlainRequest = (request: WholeRequest, response: WholeResponse) => answerPlain(request, response);
  let database: Database | undefined;
  const bodies = new IncomingBodies(
    config.maxPendingBodyBytes,
    Math.max(config.maxPendingBodyBytes / 8, config.maxRequestBytes),
  );
  const port = createOnePort({
    tls: readCertificate(config),
    onRequest: (request, response) => answer(request, response),
    bodies,
    ...(config.fullDoors
      ? { takePlain: () => undefined } // Node's server would drop malformed fields and serve the rest
      : {
          onPlainRequest,
          takePlain: (fields) => takePlain(fields, onPlainRequest),
        }),
    onRead: () => database?.refresh(),
    refusalBody,
    limits: { maxHeaderBytes },
    onError: (error) => log.debug({ err: error }, "connection"),
  });
  const { port: portNumber } = await port.listen(config.listen).catch((error) => {
    throw listenFailure("listen", config.listen, error);
  });
  const address = { host: config.listen.host, port: portNumber };
  const baseUrl = baseUrlOf(config, address);
  let availability: Availability | undefined;
  let dispatcher: Dispatcher | undefined;
  let metrics: DeliveryMetrics | undefined;
  try {
    const waitMs = /^postgres/.test(config.database) ? config.databaseWait : 0; // a file does not come by itself
    const prepared = await whenReachable(() => prepareDatabase(config.database, config.issuer ?? baseUrl, now), {
      waitMs,
      log,
      signal,
    });
    const { database: opened, installation, isNew } = prepared;
    database = opened;
    const health = createHealth(
      descriptors.map(({ typeName }) => typeName),
      shutdown.signal,
    );
    const isServing = () => !shutdown.signal.aborted && watched.isUp;
    const watched = watchAvailability({ database, log, onChange: () => health.setServing(isServing()) });
    availability = watched;
    const reportOutage = (error: unknown) => watched.report(error);
    const reportAs = (message: string) => (error: unknown) => {
      if (!reportOutage(error)) log.warn({ err: error }, message);
    };
    const issuer = await createIssuer({
      issuer: installation.issuerUrl,
      keys: installation.signingKeys,
      readKeys: async () => (await readInstallation(opened.read))?.signingKeys ?? [],
      clock: now,
    });
    const events = createEventRecorder({ contract, baseUrl, issuerUrl: issuer.url, registry, hasSubscriptions });
    const authenticator = createAuthenticator({
      issuer,
      identities: identitySource({
        database,
        issuerUrl: issuer.url,
        now,
        report: reportAs("last use not written"),
      }),
      providers: providerSource(database, now, events.recordChanges),
      keySets: createKeySets({ allowLoopbackHttp: config.allowLoopbackIssuers, clock: now }),
      clock: now,
    });
    const environment = await readEnvironment(database, installation, config);
    const grants = grantSource(database.read);
    const audit = createAudit({
      database,
      now,
      onLoss: (count, error) => log.error({ reason: String(error), count }, "audit records lost"),
    });
    const policy = createPipeline({
      contract,
      log,
      serviceHost,
      authenticator,
      grants,
      database,
      environment,
      audit,
      events,
      reportOutage,
      onCommit: () => dispatcher?.wake(),
      now,
    });
    const transport = createLocalTransport(services, policy.layers, { observers: policy.observers });
    bodies.check = createSenderCheck({ authenticator, transport, identify });
    const withToken = new Set(
      contract.methods.flatMap(({ method, authorization }) => (authorization.kind === "open" ? [] : [method])),
    );
    const isOpen = (method: DescMethod) => !withToken.has(method);
    const watchBody = (
      request: PortRequest | WholeRequest,
      response: PortResponse | WholeResponse,
      method: DescMethod,
    ) => bodies.watch(request, response, isOpen(method) ? "anybody" : method);
    const describeError = (error: ConnectError, method: DescMethod | undefined) =>
      atEdge(error, serviceHost, method?.parent.typeName.split(".")[1]);
    const rest = createRestHandler({
      transport,
      services: descriptors,
      registry,
      answerHeaders: ({ headers }) => answerHeaders(headers),
      describeError,
      watchBody,
      limits: {
        maxBodyBytes: (method) => (isOpen(method) ? unverifiedBytes : maxRequestBytes),
        maxUrlBytes,
        settings: { body: flagOf("maxRequestBytes"), url: flagOf("maxUrlBytes") },
      },
      slashInMultiSegment: "decode",
      mayHaveColon: (field) => !holdsUid(field),
    });
    const doors = createRpcDoors({
      transport,
      services: descriptors,
      registry,
      hasFastLane: !config.fullDoors,
      limits: { readMaxBytes: maxRequestBytes },
      mount: (router) => {
        mountHealth(router, health);
        mountReflection(router, [{ file: file_google_rpc_error_details }]);
      },
      answerHeaders,
      describeError,
      watchBody,
      isOpen,
      isVerified: ({ authorization }) => bodies.check.isVerified(authorization),
      refusalBody,
      onError: (error) => log.debug({ err: error }, "response not sent"),
    });
    const endpoints = createEndpoints({
      issuer,
      unreadiness: () =>
        shutdown.signal.aborted ? "stopping" : watched.isUp ? undefined : "the database is not available",
      onError(error, response) {
        const described = callersError(error);
        reportOutage(error);
        if (described.code === Code.Internal) log.error({ err: error }, "bug");
        void writeStatus(response, atEdge(described, serviceHost, undefined), { registry });
      },
    });
    const sts = createSts({
      exchange: createTokenExchange({ database, issuer, authenticator, baseUrl, now }),
      registry,
      serviceHost,
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
    const { auditRetentionDays, eventRetentionDays } = config;
    const daysAgo = (days: number) => now() - days * 86_400_000;
    const stopHousekeeping = startHousekeeping({
      database,
      tables: [sessions, idempotentAnswers],
      others: [
        ...(auditRetentionDays === undefined ? [] : [() => forgetAudit(opened, daysAgo(auditRetentionDays))]),
        () => forgetDelivered(opened, daysAgo(eventRetentionDays)),
      ],
      now,
      report: reportAs("housekeeping"),
    });
    warmValidation(contract.methods.flatMap(({ method }) => [method.input, method.output]));

    const places = new Map(Object.entries({ ...endpoints, ...sts, ...notifications?.endpoints }));

    takePlain = doors.takePlain;
    answer = (request, response) => {
      if (config.corsOrigins.length > 0) {
        setHeaders(response, answerHeaders(request.headers));
        if (handleCors(config.corsOrigins, request, response)) return;
      }
      const path = pathOf(request);
      if (doors.takeRequest(path, request, response)) return;
      const endpoint = places.get(path);
      if (endpoint !== undefined) {
        setHeaders(response, answerHeaders(request.headers));
        if (endpoint(request, response)) return;
      }
      void rest(request, response);
    };
    answerPlain = (request, response) => {
      const path = pathOf(request);
      if (places.has(path)) return response.handBack();
      if (config.corsOrigins.length > 0) {
        setHeaders(response, answerHeaders(request.headers));
        setCorsHeaders(config.corsOrigins, request, response);
      }
      if (!doors.takeWhole(path, request, response)) void rest(request, response);
    };
    metrics =
      config.metricsListen &&
      (await serveMetrics({ database, listen: config.metricsListen, now }).catch((error) => {
        throw listenFailure("metricsListen", config.metricsListen!, error);
      }));
    dispatcher = startDispatcher({
      database,
      subscriptions: subscriptionSource({ database, secrets: environment.secrets }),
      sign: (request) => issuer.mint(request),
      allowLoopbackSinks: config.allowLoopbackSinks,
      now,
      report: reportAs("delivery"),
      onAttempt: (attempt, subscription) => metrics?.countAttempt(attempt, subscription),
    });
    health.setServing(isServing());
    log.info(
      { listen: addressUrlOf(config, address), baseUrl, issuer: issuer.url, database: database.dialect },
      "listening",
    );

    return {
      baseUrl,
      listenUrl: addressUrlOf(config, address),
      installed: isNew ? installation : undefined,
      mintToken: (subject, ttlSeconds) => issuer.mint({ subject, ttlSeconds }),
      async stop() {
        health.setServing(false);
        shutdown.abort(unavailable("the server stops"));
        await port.close({ graceMs });
        await notifications?.close();
        await dispatcher?.stop();
        await metrics?.close();
        await stopHousekeeping();
        await audit.close();
        await watched.stop(); // until now: it ends what waits for a database that hangs
        await opened.close();
      },
    };
  } catch (error) {
    await port.close({ graceMs: 0 });
    await dispatcher?.stop();
    await metrics?.close();
    await availability?.stop();
    await database?.close();
    throw error;
  }
}

/** Whether a field of a request holds a uid and nothing else: an artifact is asked for by its id, too. */
function holdsUid(path: FieldPath): boolean {
  const { type } = getOption(path.at(-1)!, resource_reference);
  const isOfResource = type !== "" && type !== "libraries.platform.internal/Artifact";
  return isOfResource || path.some((field) => getOption(field, iam_scope));
}

interface PreparedDatabase {
  readonly database: Database;
  readonly installation: Installation;
  /** Whether it was made now. */
  readonly isNew: boolean;
}

/** Opens, migrates and if need be initialises the database. Nothing is left open when that fails. */
async function prepareDatabase(url: string, issuerUrl: string, now: () => number): Promise<PreparedDatabase> {
  const database = await openDatabase(url);
  try {
    await database.migrate();
    const existing = await readInstallation(database.read);
    const made = existing === undefined ? await install(database, issuerUrl, now) : undefined;
    const installation = existing ?? made ?? (await readInstallation(database.read));
    if (installation === undefined) throw new Error("the database lost its installation while it was prepared");
    if (made === undefined) await refreshBuiltIns(database, now);
    await indexIdentities(database);
    await refreshDerivedRows(database, now);
    return { database, installation, isNew: made !== undefined };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Every answer says which request it is for, and is nobody's to cache unless it says otherwise. */
function answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return { "x-request-id": identify(headers), "cache-control": "no-store" };
}

/** The id of a request: the client's, or one that is put in its place. */
function identify(headers: IncomingHttpHeaders): string {
  const given = headers["x-request-id"];
  const id = typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
  headers["x-request-id"] = id;
  return id;
}
