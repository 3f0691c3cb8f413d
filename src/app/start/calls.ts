/** What carries out the calls of a server, whatever their protocol. */

import { emptyRecord } from "../../audit/index.ts";
import { Authenticator, type CertificateTokens, createCertificateTokens, createKeySets } from "../../auth/index.ts";
import { createLocalTransport, type LocalTransport } from "../../call/index.ts";
import { flagOf } from "../../config/index.ts";
import { completeError, resourceExhausted } from "../../errors.ts";
import { createPipeline, type EndpointCalls } from "../../pipeline/index.ts";
import { quotaOf } from "../../quotas.ts";
import { writeStatus } from "../../rest/index.ts";
import { grantSource, identitySource, providerSource } from "../../services/index.ts";
import { createCounter } from "../counter.ts";
import { measureAuthentication, measureCalls } from "../instruments/calls.ts";
import { commitsWith, isSerializable, lockForCall } from "./call-isolation.ts";
import type { StartContext } from "./context.ts";
import type { Parts } from "./parts.ts";
import type { ServerPort } from "./port.ts";

/** What carries out calls. */
export interface Calls {
  readonly authenticator: Authenticator;
  /** Called for each identity that a token of another issuer uses. */
  readonly onUse: (identity: string) => void;
  /** Undefined if certificates of clients are not identities. */
  readonly certificates: CertificateTokens | undefined;
  readonly transport: LocalTransport;
  /** For calls that are not methods of the contract. */
  readonly endpointCalls: EndpointCalls;
}

/** Builds the pipeline and the transport. */
export function buildCalls(context: StartContext, parts: Parts, { pause }: Pick<ServerPort, "pause">): Calls {
  const { config, live, log, api, now, overload, rateLimited, metrics, peers, tracing } = context;
  const { services, contract } = api;
  const { database, availability, environment, audit, events } = parts;
  const { authenticator, certificates, onUse } = buildAuthentication(context, parts, pause);
  database.limitRows({
    limitOf: (quota) => quotaOf(live.current.quotas, quota),
    excess: (quota, organisation, limit) =>
      resourceExhausted(organisation, `an organisation can have ${limit} ${quota} (${flagOf("quotas")})`, undefined, {
        limit: String(limit),
        quota,
      }),
  });
  const { observers, interceptors, endpointCalls } = createPipeline({
    contract,
    log,
    callCounter: metrics && measureCalls(metrics, context),
    serviceHost: config.serviceHost,
    authenticator,
    grants: grantSource(database.read),
    onUse,
    database,
    environment,
    audit,
    events,
    reportOutage: availability.report,
    writeError: (response, error, httpStatus) =>
      writeStatus(response, completeError(error, config.serviceHost, undefined), {
        registry: api.registry,
        httpStatus,
      }),
    receiverOf: ({ parent, localName }) => services.find(({ service }) => service === parent)?.receivers?.[localName],
    isSerializable,
    commitsWith,
    lockForCall,
    onCommit: peers.wakeDispatcher,
    rateLimits: {
      get read() {
        return live.current.rateLimitRead;
      },
      get list() {
        return live.current.rateLimitList;
      },
      get write() {
        return live.current.rateLimitWrite;
      },
    },
    onRateLimit: rateLimited.report,
    get maxCalls() {
      return live.current.maxCalls;
    },
    get slowCallMs() {
      return live.current.slowCall;
    },
    baggage: config.traceBaggage,
    tracing,
    onOverload: () => overload.report("max-calls"),
    now,
  });
  return {
    authenticator,
    onUse,
    certificates,
    transport: createLocalTransport(services, interceptors, { observers }),
    endpointCalls,
  };
}

/** What finds callers by their tokens and certificates. */
function buildAuthentication(
  { config, live, now, metrics }: StartContext,
  { database, issuer, audit, events, reportAs }: Parts,
  pause: ServerPort["pause"],
): Pick<Calls, "authenticator" | "certificates" | "onUse"> {
  const certificates = config.tlsClientIdentities === "on" ? createCertificateTokens(issuer.url) : undefined;
  const keyFetches = createCounter(["named ok", "named failed", "pattern ok", "pattern failed"]);
  const report = reportAs("last use not written");
  const identities = identitySource({ database, issuerUrl: issuer.url, now, report });
  const providers = providerSource({
    database,
    now,
    async record(session, { identity, claims, provider, changes, nowMs }) {
      await events.recordChanges(session, changes, { subject: identity, claims }, nowMs);
      const line = { ...emptyRecord, caller: identity, issuer: claims.iss, method: "iam/first_sign_in", code: "OK" };
      await audit.append(session, { ...line, scope: provider, resource: identity, count: 1 });
    },
    reserved: () => live.current.reservedClients,
    report: reportAs("report of a user not written"),
  });
  const keySets = createKeySets({
    allowLoopbackHttp: config.allowLoopbackIssuers,
    clock: now,
    onFetch: (kind, result) => keyFetches.report(`${kind} ${result}`),
  });
  const authenticator = new Authenticator({ certificates, issuer, identities, providers, keySets, pause, clock: now });
  if (metrics !== undefined) measureAuthentication(metrics, authenticator, keyFetches.counts);
  return { authenticator, certificates, onUse: identities.seen };
}
