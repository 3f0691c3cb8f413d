import { create, isMessage, type Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createClient,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  Health,
  type HealthCheckRequest,
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { DocumentsService, type UploadSbomRequest } from "../../gen/platform/findings/v1/sboms_pb.ts";
import { type CallInterceptor, onError } from "../../src/call/interceptor.ts";
import { LocalResponse, piecesOf, replaceMessage } from "../../src/call/local-call.ts";
import { createLocalTransport, type LocalTransportOptions } from "../../src/call/local-transport.ts";

type Check = (request: HealthCheckRequest, context: HandlerContext) => unknown;

/** A transport whose `Check` is the given function. */
function transportOf(check: Check, layers: CallInterceptor[] = [], options: LocalTransportOptions = {}) {
  return createLocalTransport([{ service: Health, methods: { check } }], layers, options);
}

const serving: Check = () => ({ status: Status.SERVING });
const never: Check = () => new Promise(() => {});
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "OK",
    (error) => (error instanceof ConnectError ? Code[error.code] : error),
  );

describe("a unary call", () => {
  it("hands the handler a whole message and gives one back", async () => {
    let seen: HealthCheckRequest | undefined;
    const client = createClient(
      Health,
      transportOf((request) => {
        seen = request;
        return { status: Status.NOT_SERVING };
      }),
    );
    const answer = await client.check({ service: "a" });
    expect(seen).toEqual(create(HealthCheckRequestSchema, { service: "a" }));
    expect(isMessage(answer, HealthCheckResponseSchema)).toBe(true);
    expect(answer.status).toBe(Status.NOT_SERVING);
  });

  it("passes a message on without copying it", async () => {
    const given = create(HealthCheckRequestSchema);
    const made = create(HealthCheckResponseSchema);
    const transport = transportOf((request) => {
      expect(request).toBe(given);
      return made;
    });
    const { message } = await transport.unary(Health.method.check, undefined, undefined, undefined, given);
    expect(message).toBe(made);
  });

  it("gives the handler Connect's context", async () => {
    const key = createContextKey("");
    let seen: HandlerContext | undefined;
    const transport = transportOf((_request, context) => {
      seen = context;
      expect(context.signal.aborted).toBe(false);
      context.responseHeader.set("x-header", "h");
      context.responseTrailer.set("x-trailer", "t");
      return {};
    });
    const response = await transport.unary(
      Health.method.check,
      undefined,
      1000,
      { authorization: "Bearer x" },
      {},
      createContextValues().set(key, "value"),
    );
    expect(seen?.service).toBe(Health);
    expect(seen?.method).toBe(Health.method.check);
    expect(seen?.requestMethod).toBe("POST");
    expect(seen?.protocolName).toBe("local");
    expect(seen?.url).toBe("local:/grpc.health.v1.Health/Check");
    expect(seen?.requestHeader.get("Authorization")).toBe("Bearer x");
    expect(seen?.values.get(key)).toBe("value");
    expect(seen?.timeoutMs()).toBeLessThanOrEqual(1000);
    expect(seen?.signal.aborted).toBe(true); // The call has ended.
    expect(response.header.get("x-header")).toBe("h");
    expect(response.trailer.get("x-trailer")).toBe("t");
    expect(response.method).toBe(Health.method.check);
    expect(response.service).toBe(Health);
  });

  it("makes no headers that nobody touches, and uses given ones as they are", async () => {
    const given = new Headers();
    const transport = transportOf((_request, context) => {
      expect(context.requestHeader).toBe(given);
      return {};
    });
    const response: unknown = await transport.unary(Health.method.check, undefined, undefined, given, {});
    expect(response).toBeInstanceOf(LocalResponse);
    expect((response as LocalResponse).touchedHeader).toBeUndefined();
    expect((response as LocalResponse).touchedTrailer).toBeUndefined();
  });

  it("runs layers outermost first, observers around them, each composed once", async () => {
    const log: string[] = [];
    let composed = 0;
    const named =
      (name: string): CallInterceptor =>
      (next) => {
        composed++;
        return async (request) => {
          log.push(name);
          const response = await next(request);
          log.push(`/${name}`);
          return response;
        };
      };
    const client = createClient(Health, transportOf(serving, [named("a"), named("b")], { observers: [named("o")] }));
    await client.check({});
    await client.check({});
    expect(log.slice(0, 6)).toEqual(["o", "a", "b", "/b", "/a", "/o"]);
    expect(composed).toBe(3);
  });

  it("lets a layer run the handler again", async () => {
    let runs = 0;
    const twice: CallInterceptor = (next) => async (request) => {
      await next(request);
      return next(request);
    };
    await createClient(
      Health,
      transportOf(() => {
        runs++;
        return {};
      }, [twice]),
    ).check({});
    expect(runs).toBe(2);
  });

  it("refuses a copy of the request from a layer", async () => {
    const copying: CallInterceptor = (next) => (request) => next({ ...request });
    const client = createClient(Health, transportOf(serving, [copying]));
    await expect(client.check({})).rejects.toThrow(/handed on/);
  });

  it.each([
    ["an error for callers", new ConnectError("no", Code.NotFound)],
    ["a bug", new TypeError("bug")],
  ])("passes on what is thrown as it is: %s", async (_what, error) => {
    const failing = [
      () => {
        throw error;
      },
      () => Promise.reject(error),
    ];
    for (const check of failing) {
      const transport = transportOf(check);
      await expect(transport.unary(Health.method.check, undefined, 1000, undefined, {})).rejects.toBe(error);
    }
  });

  it("answers UNIMPLEMENTED for what is not there", async () => {
    const client = createClient(Health, transportOf(serving));
    expect(await codeOf(client.list({}))).toBe("Unimplemented");
  });

  it("refuses a service that is given twice", () => {
    const implementation = { service: Health, methods: { check: serving } };
    expect(() => createLocalTransport([implementation, implementation], [])).toThrow(/twice/);
  });
});

describe("the time of a call", () => {
  it.each([
    ["the caller's time-out", 20, undefined],
    ["a time-out of zero", 0, undefined],
    ["the cap, for want of a time-out", undefined, 20],
    ["the cap, below the time-out", 100_000, 20],
  ])("ends with %s, whatever the handler does", async (_what, timeoutMs, maxTimeoutMs) => {
    let signal: AbortSignal | undefined;
    const transport = transportOf(
      (request, context) => {
        signal = context.signal;
        return never(request, context);
      },
      [],
      { ...(maxTimeoutMs && { maxTimeoutMs }) },
    );
    const call = transport.unary(Health.method.check, undefined, timeoutMs, undefined, {});
    expect(await codeOf(call)).toBe("DeadlineExceeded");
    if (timeoutMs !== 0) expect(signal?.reason).toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("bears time-outs longer than a timer can be", async () => {
    const slow: Check = async () => new Promise((resolve) => setTimeout(resolve, 20, {}));
    const call = transportOf(slow).unary(Health.method.check, undefined, 1e14, undefined, {});
    expect(await codeOf(call)).toBe("OK");
  });

  it("ends when the caller cancels, before or during the call", async () => {
    const transport = transportOf(never);
    const call = (signal: AbortSignal) =>
      codeOf(transport.unary(Health.method.check, signal, undefined, undefined, {}));
    const controller = new AbortController();
    const running = call(controller.signal);
    controller.abort();
    expect(await running).toBe("Canceled");
    expect(await call(controller.signal)).toBe("Canceled");
    expect(await call(AbortSignal.abort(new ConnectError("late", Code.DeadlineExceeded)))).toBe("DeadlineExceeded");
  });

  it("shows observers the deadline when it happens", async () => {
    let seen: unknown;
    const observer: CallInterceptor = (next) => async (request) => {
      try {
        return await next(request);
      } catch (error) {
        seen = error;
        throw error;
      }
    };
    const transport = transportOf(never, [], { observers: [observer] });
    await codeOf(transport.unary(Health.method.check, undefined, 10, undefined, {}));
    expect(seen).toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("does not end a finished call a second time", async () => {
    const controller = new AbortController();
    const transport = transportOf(serving);
    await transport.unary(Health.method.check, controller.signal, 10, undefined, {});
    controller.abort();
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
});

describe("a server-streaming call", () => {
  const watching = (watch: (request: HealthCheckRequest, context: HandlerContext) => AsyncIterable<unknown>) =>
    createClient(Health, createLocalTransport([{ service: Health, methods: { watch } }], []));

  it("yields whole messages", async () => {
    const client = watching(async function* ({ service }) {
      yield { status: Status.SERVING };
      yield { status: service.length };
    });
    const statuses: Status[] = [];
    for await (const { status } of client.watch({ service: "ab" })) statuses.push(status);
    expect(statuses).toEqual([Status.SERVING, Status.NOT_SERVING]);
  });

  it("ends at the deadline, even if the next message never comes", async () => {
    let signal: AbortSignal | undefined;
    const client = watching(async function* (_request, context) {
      signal = context.signal;
      yield {};
      await new Promise(() => {});
    });
    const stream = client.watch({}, { timeoutMs: 20 });
    const read = async () => {
      for await (const _ of stream);
    };
    expect(await codeOf(read())).toBe("DeadlineExceeded");
    expect(signal?.aborted).toBe(true);
  });

  it("stops the handler when the reader stops", async () => {
    let stopped = false;
    const watch = async function* () {
      try {
        for (;;) yield {};
      } finally {
        stopped = true;
      }
    };
    const transport = createLocalTransport([{ service: Health, methods: { watch } }], []);
    const requests = (async function* () {
      yield {};
    })();
    const { message } = await transport.stream(Health.method.watch, undefined, undefined, undefined, requests);
    for await (const _ of message) break;
    await expect.poll(() => stopped).toBe(true);
  });

  it("passes on what the handler throws", async () => {
    // biome-ignore lint/correctness/useYield: a stream that fails before its first message.
    const client = watching(async function* () {
      throw new ConnectError("no", Code.NotFound);
    });
    const read = async () => {
      for await (const _ of client.watch({}));
    };
    expect(await codeOf(read())).toBe("NotFound");
  });
});

describe("a call whose request comes in pieces", () => {
  const digests = (...all: string[]) =>
    (async function* () {
      for (const digest of all) yield { digest };
    })();

  /** A transport whose `UploadSbom` answers with the digest of its message. */
  function uploading(layers: CallInterceptor[] = [], options: LocalTransportOptions = {}) {
    const methods = { uploadSbom: ({ digest }: UploadSbomRequest) => ({ digest }) };
    return createClient(
      DocumentsService,
      createLocalTransport([{ service: DocumentsService, methods }], layers, options),
    );
  }

  /** Puts a message in the place of the pieces, of which it has all digests. */
  const joining: CallInterceptor = (next) => async (request) => {
    const first = (request as unknown as { readonly message: UploadSbomRequest }).message;
    const all = [first.digest];
    for await (const piece of piecesOf(request)!) all.push((piece as UploadSbomRequest).digest);
    replaceMessage(request, { ...first, digest: all.join() } as Message);
    return next(request);
  };

  it("is one with its first piece", async () => {
    expect(await uploading().uploadSbom(digests("a", "b"))).toMatchObject({ digest: "a" });
    await expect(codeOf(uploading().uploadSbom(digests()))).resolves.toBe("Unimplemented");
  });

  it("has the message that an interceptor made of the pieces", async () => {
    expect(await uploading([joining]).uploadSbom(digests("a", "b", "c"))).toMatchObject({ digest: "a,b,c" });
  });

  it("ends the pieces when it is refused, and those around it see it fail", async () => {
    let isEnded = false;
    const seen: unknown[] = [];
    async function* endless() {
      try {
        for (;;) yield { digest: "a" };
      } finally {
        isEnded = true;
      }
    }
    const refusal = new ConnectError("no", Code.PermissionDenied);
    const refusing: CallInterceptor = () => () => Promise.reject(refusal);
    const observers = [
      onError((error, request) => {
        seen.push(error, (request.message as unknown as UploadSbomRequest).digest);
        return error;
      }),
    ];
    await expect(codeOf(uploading([refusing], { observers }).uploadSbom(endless()))).resolves.toBe("PermissionDenied");
    expect([isEnded, seen]).toEqual([true, [refusal, "a"]]);
    const failing = (async function* () {
      yield* digests();
      throw refusal;
    })();
    await expect(codeOf(uploading([], { observers }).uploadSbom(failing))).resolves.toBe("PermissionDenied");
    expect(seen.slice(2)).toEqual([refusal, ""]);
  });

  it("ends with its deadline while a piece is awaited", async () => {
    async function* slow() {
      yield { digest: "a" };
      await new Promise(() => {});
    }
    const call = uploading([joining]).uploadSbom(slow(), { timeoutMs: 20 });
    await expect(codeOf(call)).resolves.toBe("DeadlineExceeded");
  });
});
