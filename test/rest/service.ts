/** An implementation of the fixture's service, on an in-process Transport. */
import { Code, ConnectError, createRouterTransport, type HandlerContext } from "@connectrpc/connect";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { storedFormat } from "../../src/codec/index.ts";
import { createRestHandler, type RestHandler, type RestOptions } from "../../src/rest/index.ts";
import { type Any, create, library, registry } from "./fixture.ts";

/** What the service saw last. */
export const seen: {
  message?: Any;
  context?: HandlerContext;
  /** Number of messages that a client stream has sent. */
  collected: number;
  /** Whether its service is waiting for more of them. */
  isCollecting?: boolean;
  /** Number of messages the stream has been asked for. */
  inWatch: number;
  /** Whether it has ended, or was left. */
  hasWatchEnded?: boolean;
  /** Called with the signal of a call that waits until it is aborted. */
  onUndelete?: (signal: AbortSignal) => void;
} = { inWatch: 0, collected: 0 };

async function* watch({ count, failAfter }: Any, { signal }: HandlerContext) {
  seen.inWatch = 0;
  signal.addEventListener("abort", () => {
    seen.hasWatchEnded = true;
  });
  for (let index = 0; index < count; index++) {
    if (failAfter > 0 && index === failAfter - 1) throw new ConnectError("Unavailable: gone", Code.Unavailable);
    seen.inWatch = index;
    yield create("Repo", { name: `${index}`, description: count > 1000 ? "x".repeat(10_000) : "" });
  }
}

const answers: Record<string, (message: Any, context: HandlerContext) => Any> = {
  listRepos: ({ pageSize }) =>
    create("ListReposResponse", { repos: Array(pageSize).fill(create("Repo", { name: "a".repeat(50) })) }),
  getRepo: ({ uid }, context) => {
    context.responseHeader.set("etag", '"1"');
    context.responseHeader.append("x-many", "a");
    context.responseTrailer.append("x-many", "b");
    context.responseTrailer.set("x-data-bin", "AQI");
    return create("Repo", { uid });
  },
  createRepo: ({ parent, repo }) => ({ ...repo, uid: `${parent}/new` }),
  updateRepo: ({ repo }) => repo,
  deleteRepo: () => ({}),
  getReadme: ({ uid }) => create("Repo", { description: uid === "empty" ? "" : "# Hello" }),
  getTags: () => create("Repo"),
  getLayer: (message) => message,
  getLayerSize: (message) => message,
  moveRepo: (message) => message,
  getImage: ({ digest }) => fail(digest),
  undeleteImage: async (_, context) => {
    seen.onUndelete?.(context.signal);
    await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
    throw context.signal.reason;
  },
  echo: (message) => message,
  download: () => ({ contentType: "text/markdown", data: new TextEncoder().encode("# Hi\n".repeat(1000)) }),
  upload: (message) => message,
};

function fail(name: string): never {
  switch (name) {
    case "plain":
      throw new TypeError("secret: SELECT * FROM users");
    case "retry":
      throw new ConnectError("Resource exhausted: slow down", Code.ResourceExhausted, { "x-extra": "1" }, [
        { desc: RetryInfoSchema, value: { retryDelay: { seconds: 1n, nanos: 1 } } },
      ]);
    case "undecodable": {
      const error = new ConnectError("Not found: it", Code.NotFound);
      error.details.push({ type: "no.Such", value: new Uint8Array([1, 2]) });
      error.details.push({ type: "google.rpc.ErrorInfo", value: new Uint8Array([255]) });
      error.details.push({ type: "google.rpc.ErrorInfo", value: new Uint8Array([10, 1, 65]) });
      throw error;
    }
    default:
      throw new ConnectError(`error ${name}`, Number(name));
  }
}

const implementation: Any = Object.fromEntries(
  Object.entries(answers).map(([name, answer]) => [
    name,
    (message: Any, context: HandlerContext) => {
      Object.assign(seen, { message, context });
      return answer(message, context);
    },
  ]),
);

/** Calls the service in this process. */
export const transport = createRouterTransport(
  ({ service }) =>
    service(library, {
      ...implementation,
      watch,
      async collect(messages: AsyncIterable<Any>, context: HandlerContext) {
        seen.collected = 0;
        const repos: Any[] = [];
        seen.isCollecting = true;
        try {
          for await (const repo of messages) {
            seen.collected++;
            if (repo.name === "stop") throw new ConnectError("Aborted: enough", Code.Aborted);
            if (repo.name === "early") break;
            repos.push(repo);
          }
        } finally {
          seen.isCollecting = false;
        }
        context.responseTrailer.set("x-count", String(seen.collected));
        return { repos };
      },
      async uploadStream(messages: AsyncIterable<Any>) {
        const pieces: Uint8Array[] = [];
        let first: Any;
        for await (const message of messages) {
          first ??= message;
          pieces.push(message.content.data);
        }
        return { uid: first?.uid, content: { contentType: first?.content.contentType, data: Buffer.concat(pieces) } };
      },
      async *downloadStream({ count, failAfter }: Any) {
        for (let index = 0; index < count; index++) {
          if (index + 1 === failAfter) throw new ConnectError("Unavailable: gone", Code.Unavailable);
          yield { contentType: "text/plain", data: new TextEncoder().encode(`${index};`) };
        }
      },
    } as Any),
  { router: { jsonOptions: { registry } } },
);

/** Plain errors reach the handler as they are only when no protocol stands between. */
const direct: RestOptions["transport"] = {
  unary: async (method: Any, signal: Any, timeoutMs: Any, header: Any, message: Any) => {
    if (method.name === "GetImage") answers.getImage!(message, {} as HandlerContext);
    return transport.unary(method, signal, timeoutMs, header, message) as Any;
  },
  stream: transport.stream,
};

/** A handler for the service. */
export const handlerWith = (options: Partial<RestOptions> = {}): RestHandler =>
  createRestHandler({
    transport: direct,
    services: [library],
    registry,
    json: storedFormat,
    emptyAnswer: "nothing",
    ...options,
  });
