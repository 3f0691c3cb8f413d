/** What carries out the calls of a server, whatever their protocol. */

import { emptyRecord } from "../../audit/index.ts";
import {
  type Authenticator,
  type CertificateTokens,
  createAuthenticator,
  createCertificateTokens,
  createKeySets,
} from "../../auth/index.ts";
import { createLocalTransport, type LocalTransport } from "../../call/index.ts";
import { flagOf } from "../../config/index.ts";
import {
  createPipeline,
  createQuotas,
  type EndpointCalls,
  type OrganisationQuotas,
  quotaCheck,
} from "../../pipeline/index.ts";
import { grantSource, identitySource, providerSource, quotaKinds } from "../../services/index.ts";
import { createCounter } from "../counter.ts";
import { measureAuthentication, measureCalls } from "../instruments/calls.ts";
import { commitsWith, isSerializable, lockForCall } from "./call-isolation.ts";
import type { StartContext } from "./context.ts";
import type { Parts } from "./parts.ts";

/** What carries out calls. */
export interface Calls {
  readonly authenticator: Authenticator;
  /** Undefined if certificates of clients are no identities. */
  readonly certificates: CertificateTokens | undefined;
  readonly transport: LocalTransport;
  /** For calls that are not methods of the contract. */
  readonly endpointCalls: EndpointCalls;
  readonly quotas: OrganisationQuotas;
}

/** Builds the pipeline and the transport. */
export function buildCalls(context: StartContext, parts: Parts): Calls {
  const { config, live, log, api, now, overload, rateLimited, metrics, peers, tracing } = context;
  const { services, contract } = api;
  const { database, availability, issuer, environment, audit, events, reportAs } = parts;
  const keyFetches = createCounter(["named ok", "named failed", "pattern ok", "pattern failed"]);
  const certificates = config.tlsClientIdentities === "on" ? createCertificateTokens(issuer.url) : undefined;
  const authenticator = createAuthenticator({
    certificates,
    issuer,
    identities: identitySource({ database, issuerUrl: issuer.url, now, report: reportAs("last use not written") }),
    providers: providerSource(database, now, async (session, changes, by, nowMs, providers) => {
      await events.recordChanges(session, changes, by, nowMs);
      const { subject: caller, claims } = by;
      const line = { ...emptyRecord, caller, issuer: claims.iss, method: "iam/first_sign_in", code: "OK", count: 1 };
      for (const scope of providers) await audit.append(session, { ...line, scope, resource: caller });
    }),
    keySets: createKeySets({
      allowLoopbackHttp: config.allowLoopbackIssuers,
      clock: now,
      onFetch: (kind, result) => keyFetches.report(`${kind} ${result}`),
    }),
    clock: now,
  });
  if (metrics !== undefined) measureAuthentication(metrics, authenticator, keyFetches.counts);
  const quotas = createQuotas({
    quotas: quotaKinds,
    limits: () => live.current.quotas,
    setting: flagOf("quotas"),
    read: database.read,
  });
  const { observers, interceptors, endpointCalls } = createPipeline({
    contract,
    log,
    callCounter: metrics && measureCalls(metrics, context),
    serviceHost: config.serviceHost,
    authenticator,
    grants: grantSource(database.read),
    database,
    environment,
    audit,
    events,
    reportOutage: availability.report,
    quotaCheck: quotaCheck(contract, quotaKinds, quotas),
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
  const transport = createLocalTransport(services, interceptors, { observers });
  return { authenticator, certificates, transport, endpointCalls, quotas };
}
