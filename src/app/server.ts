/** Starts the server in phases. Each returns its parts, which are closed in reverse, also when a later phase fails. */

import { setTimeout as delay } from "node:timers/promises";
import { CapabilitySchema } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { capabilitiesByName } from "../auth/index.ts";
import { addEnumNames, useFieldLimits, useGeneratedCode } from "../codec/index.ts";
import { addressUrlOf, baseUrlOf, type Config } from "../config/index.ts";
import { ruledLimits, warmValidation } from "../contract/index.ts";
import { unavailable } from "../errors.ts";
import type { Logger } from "../log.ts";
import { addProcessMetrics, createMetrics } from "../metrics/index.ts";
import { seedUids } from "../new-uid.ts";
import { isOutage } from "../pipeline/index.ts";
import { createHealth } from "../rpc/index.ts";
import { openTracing, type Tracing } from "../tracing/index.ts";
import { version } from "../version.ts";
import { createReadiness } from "./admin/readiness.ts";
import { readApi } from "./api.ts";
import { createCounter } from "./counter.ts";
import type { Installation } from "./installation.ts";
import { noPeers } from "./peers.ts";
import { LiveSettings } from "./settings/live-settings.ts";
import { reportState } from "./start/admin.ts";
import { buildCalls } from "./start/calls.ts";
import type { StartContext } from "./start/context.ts";
import { prepareDatabase } from "./start/database.ts";
import { withFaults } from "./start/faults.ts";
import { buildHandlers } from "./start/handlers.ts";
import { createOverload } from "./start/overload.ts";
import { openParts } from "./start/parts.ts";
import { openPort } from "./start/port.ts";
import { drainDelayOf, Probing } from "./start/probing.ts";
import { newerSchema, watchSchema } from "./start/schema-watch.ts";
import { whenReachable } from "./start/waiting.ts";

/** How long calls in flight may take to finish once the port is closed. */
const graceMs = 10_000;

/** A server that takes calls. */
export interface RunningServer {
  /** Where clients reach it: `https://api.example.com`. */
  readonly baseUrl: string;
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly listenUrl: string;
  /** The port of its admin listener; undefined if it has none. */
  readonly adminPort: number | undefined;
  /** Set when this start initialised the database. */
  readonly installed: Installation | undefined;
  /** A token of the platform's own for an identity. */
  mintToken(identityUid: string, ttlSeconds: number): Promise<string>;
  /**
   * Becomes unready, serves on for the drain delay, and stops listening. Idle connections have the drain delay once
   * more, calls in flight 10 s. Then it closes the database.
   */
  stop(): Promise<void>;
}

/**
 * Starts the server that `config` describes: opens the port, waits for the database, migrates it, initialises it if it
 * is empty, and serves. `signal` ends the waiting. Errors: StartFailure if the operator can mend the cause; any other
 * error. After an error nothing is left open. `peers`: the other processes of the server, by default none. `live`: the
 * settings, where they may change while it runs.
 */
export async function startServer(
  config: Config,
  log: Logger,
  signal?: AbortSignal,
  peers = noPeers(),
  live = new LiveSettings(config),
): Promise<RunningServer> {
  const startedMs = performance.now();
  useGeneratedCode(config.generatedCode === "on");
  seedUids(config.uidSeed);
  useFieldLimits(ruledLimits);
  addEnumNames(CapabilitySchema, capabilitiesByName);
  await using stack = new AsyncDisposableStack();
  const context = await createContext({ config, live, log, peers, stack });
  let isStopping = false;
  const shutdown = new AbortController();
  const { readiness, metrics } = context;
  if (metrics !== undefined) stack.defer(addProcessMetrics(metrics));
  readiness.set("shutdown", () => (isStopping ? "stopping" : undefined));
  readiness.set("startup", () => "starting");
  const { descriptors, contract } = context.api;
  const health = createHealth(
    descriptors.map(({ typeName }) => typeName),
    shutdown.signal,
    () => context.probing.note(),
  );

  const reports = await reportState(context);
  const port = await openPort(context);
  const baseUrl = baseUrlOf(config, port.address);
  const listenUrl = addressUrlOf(config, port.address);

  const prepared = await whenReachable(() => prepareDatabase(context, config.issuer ?? baseUrl, signal), {
    waitMs: /^postgres/.test(config.database) ? config.databaseWait : 0, // waiting does not make a file appear
    log,
    signal,
  });
  const updateReadiness = () => {
    health.setServing(readiness.unreadiness() === undefined);
    reports.update();
  };
  const parts = await openParts(context, prepared, baseUrl, updateReadiness);
  const { database, availability, issuer } = parts;
  readiness.set("database", () => availability.failure);
  const schema = watchSchema(database, log, () => {
    port.refuse(schema.isNewer ? newerSchema : undefined);
    updateReadiness();
  });
  stack.defer(() => schema.stop());
  readiness.set("schema", () => (schema.isNewer ? newerSchema : undefined));

  const calls = buildCalls(context, parts, port);
  const handlers = buildHandlers({
    context,
    port,
    parts,
    calls,
    health,
    baseUrl,
    unreadiness: readiness.unreadiness,
  });
  // A stand-in is to be ready soon, and has few calls.
  if (!config.ephemeral) warmValidation(contract.methods.flatMap(({ method }) => [method.input, method.output]));

  await port.serve(config.ephemeral ? withFaults(handlers, context) : handlers);
  readiness.set("startup", () => undefined);
  updateReadiness();
  log.info(
    {
      listen: listenUrl,
      baseUrl,
      issuer: issuer.url,
      database: database.dialect,
      adminPort: reports.adminPort,
      startMs: Math.round(performance.now() - startedMs),
      memoryMb: Math.round(process.memoryUsage.rss() / 2 ** 20),
    },
    "listening",
  );
  stack.defer(async () => {
    isStopping = true;
    updateReadiness();
    port.drain();
    const isProbed = context.probing.isRecent || health.isWatched || peers.isProbed;
    const delayMs = drainDelayOf(config, isProbed);
    await delay(delayMs);
    shutdown.abort(unavailable("the server stops"));
    await port.close({ graceMs, idleMs: delayMs });
  });
  const running = stack.move();
  return {
    baseUrl,
    listenUrl,
    adminPort: reports.adminPort,
    installed: prepared.isNew ? prepared.installation : undefined,
    mintToken: (subject, ttlSeconds) => issuer.mint({ subject, ttlSeconds }),
    stop: () => running.disposeAsync(),
  };
}

async function createContext(
  given: Pick<StartContext, "config" | "live" | "log" | "peers" | "stack">,
): Promise<StartContext> {
  const { config, live, log, stack } = given;
  const isMeasured = config.metrics !== "off" && config.adminListen !== "off";
  const onUnreadable = (error: unknown, metric: string) => {
    // An outage has its own lines and metric.
    if (!isOutage(error)) log.warn({ err: error, metric }, "a metric cannot be read");
  };
  return {
    ...given,
    api: readApi(config, live),
    now: config.clock === undefined ? Date.now : () => config.clock!,
    overload: createOverload(log),
    rateLimited: createCounter(["read", "list", "write", "exchange", "address"]),
    metrics: isMeasured ? createMetrics(onUnreadable) : undefined,
    tracing: await startTracing(config, log, stack),
    readiness: createReadiness(),
    probing: new Probing(),
  };
}

/** Begins to trace, if there is a collector. What is closed before it is traced, too. */
async function startTracing(
  { otlpEndpoint: endpoint, traceSampling: ratio }: Config,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<Tracing | undefined> {
  if (endpoint === undefined) return undefined;
  const tracing = await openTracing({ endpoint, ratio, version: version(), log });
  stack.defer(() => tracing.close());
  return tracing;
}
