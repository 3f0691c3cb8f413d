/** Traces from the outside: a collector, callers over every protocol, and a receiver of events. */
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, describe, expect, test } from "vitest";
import { GetRepoRequestSchema } from "../../gen/platform/registry/v2/repos_pb.ts";
import { randomHex } from "../../src/new-uid.ts";
import { startSink } from "./event-sink.ts";
import { grpcRepos } from "./grpc-repos.ts";
import { onEveryServer } from "./live-server.ts";
import { type CollectedSpan, startCollector } from "./otlp-collector.ts";

const collector = await startCollector();
const sink = await startSink();
afterAll(async () => {
  collector.close();
  await sink.close();
});

const settings = {
  otlpEndpoint: collector.url,
  traceSampling: "0",
  traceBaggage: "tenant",
  allowLoopbackSinks: "true",
};

/** Header fields of a caller whose own span has this id. */
function traced(isSampled = true) {
  const [traceId, spanId] = [randomHex(16), randomHex(8)];
  const headers = {
    traceparent: `00-${traceId}-${spanId}-0${isSampled ? 1 : 0}`,
    tracestate: "vendor=1",
    baggage: "tenant=acme%20co;p=1, secret=s3cret",
  };
  return { traceId, spanId, headers };
}

/** The spans of a trace, once the one with this name is there. */
async function spansOf(traceId: string, name: string): Promise<readonly CollectedSpan[]> {
  const found = () => collector.spans.filter((span) => span.traceId === traceId);
  await expect.poll(() => found().map((span) => span.name)).toContain(name);
  return found();
}

onEveryServer("traces", settings, (server) => {
  test("of a change have its steps, its statements and its delivery, and nothing that was sent", async () => {
    const { root, call, admin } = server();
    const subscription = (await call("POST", `/events/v2/subscriptions/${root}`, { sink: sink.url("/s3cret-path") }))
      .body;
    const { traceId, spanId, headers } = traced();
    const { body: repo } = await call("POST", `/registry/v2/repos/${root}`, { name: "s3cret-name" }, admin, headers);
    const spans = await spansOf(traceId, "deliver event");
    const named = (name: string) => spans.find((span) => span.name === name)!;
    const ofCall = named("platform.registry.v2.ReposService/CreateRepo");
    expect(ofCall).toMatchObject({ parentSpanId: spanId, kind: "server", traceState: "vendor=1", isError: false });
    expect(ofCall.attributes).toMatchObject({
      "rpc.method": "platform.registry.v2.ReposService/CreateRepo",
      "rpc.response.status_code": "OK",
      "user.id": server().administrator,
      "platform.scope": root,
      "baggage.tenant": "acme co",
    });
    const steps = ["authentication", "authorization", "validation", "wait", "handler", "commit"];
    for (const step of steps) expect(named(step)).toMatchObject({ parentSpanId: ofCall.spanId, kind: "internal" });
    const statements = spans.filter(({ kind }) => kind === "client");
    expect(statements.map(({ name }) => name)).toEqual(expect.arrayContaining(["INSERT repos", "INSERT events"]));
    for (const statement of statements) {
      expect(statement.parentSpanId).toBe(named("handler").spanId);
      expect(statement.attributes["db.system.name"]).toBe(server().isSqlite ? "sqlite" : "postgresql");
    }
    expect(statements.length).toBe(ofCall.attributes["platform.statements"]);
    for (const inner of spans.filter(({ name }) => name !== "deliver event")) {
      expect(inner.startNs).toBeGreaterThanOrEqual(ofCall.startNs);
      expect(inner.endNs).toBeLessThanOrEqual(ofCall.endNs);
    }
    const delivery = named("deliver event");
    expect(delivery).toMatchObject({ parentSpanId: ofCall.spanId, kind: "producer" });
    expect(delivery.attributes).toMatchObject({
      "cloudevents.event_subject": repo.uid,
      "platform.subscription": subscription.uid,
      "platform.delivery.outcome": "delivered",
      "server.address": "127.0.0.1",
    });
    const [received] = sink.received.filter((delivery) => delivery.headers["ce-subject"] === repo.uid);
    expect(received!.headers).toMatchObject({
      "ce-traceparent": `00-${traceId}-${ofCall.spanId}-01`,
      "ce-tracestate": "vendor=1",
      traceparent: `00-${traceId}-${delivery.spanId}-01`,
      baggage: "tenant=acme%20co",
    });
    expect(received!.headers).not.toHaveProperty("ce-baggage");
    expect(collector.resource()).toMatchObject({ "service.name": "platform" });
    const everything = JSON.stringify(spans, (_key, value) => (typeof value === "bigint" ? String(value) : value));
    expect(everything).not.toMatch(/s3cret/);
    expect(everything).not.toContain(admin.split(".")[2]);
    await call("DELETE", `/events/v2/subscriptions/${subscription.uid}`);
  });

  test("are continued over every protocol", async () => {
    const { root, call, admin, baseUrl } = server();
    const { uid } = (await call("POST", `/registry/v2/repos/${root}`, { name: `r-${randomHex(4)}` })).body;
    const path = `${baseUrl}/platform.registry.v2.ReposService/GetRepo`;
    const authorization = `Bearer ${admin}`;
    type Get = (headers: Record<string, string>) => Promise<unknown>;
    const callers: Record<string, Get> = {
      REST: (headers) => call("GET", `/registry/v2/repos/${uid}`, undefined, admin, headers),
      Connect: (headers) =>
        fetch(path, {
          method: "POST",
          body: JSON.stringify({ uid }),
          headers: { ...headers, authorization, "content-type": "application/json", "connect-protocol-version": "1" },
        }),
      "gRPC-Web": (headers) =>
        fetch(path, {
          method: "POST",
          body: framed(toBinary(GetRepoRequestSchema, create(GetRepoRequestSchema, { uid }))),
          headers: { ...headers, authorization, "content-type": "application/grpc-web+proto", "x-grpc-web": "1" },
        }),
      gRPC: async (headers) => {
        const client = grpcRepos(baseUrl.slice("http://".length), admin, undefined, headers);
        await client.call("GetRepo", { uid });
        client.close();
      },
    };
    const check = async ([protocol, get]: [string, Get]) => {
      const { traceId, spanId, headers } = traced();
      await get(headers);
      const spans = await spansOf(traceId, "platform.registry.v2.ReposService/GetRepo");
      const [ofCall] = spans.filter(({ kind }) => kind === "server");
      expect(ofCall, protocol).toMatchObject({ parentSpanId: spanId });
    };
    await Promise.all(Object.entries(callers).map(check));
  });

  describe("are not recorded", () => {
    test("for a stranger who wants it, nor for a caller who does not; the context goes on", async () => {
      const { root, call, admin } = server();
      const subscription = (await call("POST", `/events/v2/subscriptions/${root}`, { sink: sink.url("/") })).body;
      const [stranger, unsampled, last] = [traced(), traced(false), traced()];
      const refused = await call("GET", `/registry/v2/repos/${root}`, undefined, null, stranger.headers);
      expect(refused.body.details.at(-1)).toMatchObject({ servingData: stranger.traceId });
      const name = `r-${randomHex(4)}`;
      const { body } = await call("POST", `/registry/v2/repos/${root}`, { name }, admin, unsampled.headers);
      await call("GET", `/registry/v2/repos/${body.uid}`, undefined, admin, last.headers);
      await spansOf(last.traceId, "platform.registry.v2.ReposService/GetRepo");
      const recorded = new Set(collector.spans.map(({ traceId }) => traceId));
      expect([recorded.has(stranger.traceId), recorded.has(unsampled.traceId)]).toEqual([false, false]);
      const received = () => sink.received.filter(({ headers }) => headers["ce-subject"] === body.uid);
      await expect.poll(() => received().length).toBe(1);
      expect(received()[0]!.headers).toMatchObject({
        "ce-traceparent": unsampled.headers.traceparent,
        traceparent: unsampled.headers.traceparent,
      });
      await call("DELETE", `/events/v2/subscriptions/${subscription.uid}`);
    });
  });
});

/** A message as gRPC frames it. */
function framed(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(5 + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, 5);
  return frame;
}
