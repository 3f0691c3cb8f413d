/** Calls of a server over each protocol, whose answers have one form. */
import {
  createRegistry,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { Code, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { createConnectTransport } from "@connectrpc/connect-web";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.ts";
import { createPlatformTransport, networkReason, PlatformError } from "../../client/index.ts";
import { type GrpcSessions, grpcSessions } from "../../client-node/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { contractCatalog } from "../catalog/contract.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { type RestRequest, restRequest } from "./server/rest-request.ts";

/** The protocols that every answer is compared over. */
export const protocols = ["rest", "connect", "grpc"] as const;

/** One of them. */
export type Protocol = (typeof protocols)[number];

/** An error: `google.rpc.Status`. */
export interface Status {
  readonly code: number;
  readonly message: string;
  /** With `@type` each. Without RequestInfo, which differs from call to call. */
  readonly details: readonly JsonObject[];
}

/**
 * How a call ended. Messages are in JSON with all fields that the contract has; what REST adds to them is in `rest`.
 */
export type Outcome = ({ readonly message: JsonObject } | { readonly status: Status }) & {
  readonly rest?: { readonly httpStatus: number; readonly body: string };
  /** Set if what came is not an answer of the protocol, or nothing came. */
  readonly isUnreadable?: true;
};

/** An answer in JSON as it came, over REST or Connect. */
export interface JsonAnswer {
  readonly over: "rest" | "connect";
  readonly contentType: string | undefined;
  /** The JSON of a message; undefined for an error, and for what is not JSON. */
  readonly json: JsonValue | undefined;
}

/** How a call is made. */
export interface CallOptions {
  /** undefined: without one. */
  readonly token: string | undefined;
  readonly over: Protocol;
  readonly headers?: Readonly<Record<string, string>>;
}

const detailRegistry = createRegistry(file_google_rpc_error_details);
const requestInfo = "type.googleapis.com/google.rpc.RequestInfo";

/** The unary method of the newest version of the contract with this name, such as `ListRepos`. */
export function methodNamed(name: string): DescMethodUnary {
  return unaryMethods().find((method) => method.name === name)!;
}

/** The unary methods of the newest version of each domain. */
export function unaryMethods(): DescMethodUnary[] {
  return contractCatalog().services.flatMap(({ service }) =>
    service.methods.filter((method): method is DescMethodUnary => method.methodKind === "unary"),
  );
}

/** Calls one server. */
export class Caller {
  readonly #server: string;
  readonly #timeoutMs: number;
  readonly #sessions: GrpcSessions;
  readonly #transports: Readonly<Record<"connect" | "grpc", Transport>>;
  /** Takes every answer in JSON with a body. */
  onJson: (method: DescMethod, answer: JsonAnswer) => void = () => {};

  /** @param server its base URL. @param timeoutMs of each call. */
  static async create(server: string, timeoutMs: number): Promise<Caller> {
    const url = server.replace(/\/$/, "");
    return new Caller(url, timeoutMs, await grpcSessions(url));
  }

  private constructor(server: string, timeoutMs: number, sessionManager: GrpcSessions) {
    this.#server = server;
    this.#timeoutMs = timeoutMs;
    this.#sessions = sessionManager;
    const options = { server, timeoutMs, retry: false } as const;
    this.#transports = {
      connect: createPlatformTransport({
        ...options,
        transport: ({ fetch, ...rest }) => createConnectTransport({ ...rest, fetch: this.#watched(fetch) }),
      }),
      grpc: createPlatformTransport({
        ...options,
        transport: ({ baseUrl, interceptors }) => createGrpcTransport({ baseUrl, interceptors, sessionManager }),
      }),
    };
  }

  /** Closes its connections. */
  close(): void {
    this.#sessions.abort();
  }

  /**
   * Makes a call. What is not an answer of the protocol counts as an error of its own. Errors: CommandFailure if the
   * server is not reached over REST.
   */
  async call(method: DescMethod, request: JsonObject, { token, over, headers = {} }: CallOptions): Promise<Outcome> {
    const all = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers };
    try {
      return await (over === "rest" ? this.#overRest(method, request, all) : this.#overRpc(method, request, all, over));
    } catch (error) {
      if (error instanceof CommandFailure) throw error;
      const message = `no readable answer over ${over}: ${(error as Error).message}`;
      return { status: { code: Code.Unknown, message, details: [] }, isUnreadable: true };
    }
  }

  /** `fetch` for calls over Connect, whose answers are reported. */
  #watched(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
    return async (input, init) => {
      const response = await fetch(input, init);
      const [service = "", name] = new URL(response.url).pathname.split("/").slice(-2);
      const method = contractRegistry()
        .getService(service)
        ?.methods.find((it) => it.name === name);
      const body = new Uint8Array(await response.arrayBuffer());
      if (method !== undefined) this.#tell(method, "connect", response, new TextDecoder().decode(body));
      return new Response(body, response); // bytes, as a text would bring a type of its own
    };
  }

  #tell(method: DescMethod, over: JsonAnswer["over"], { ok, headers }: Response, body: string): void {
    if (body === "") return;
    this.onJson(method, {
      over,
      contentType: headers.get("content-type") ?? undefined,
      json: ok ? parsed(body) : undefined,
    });
  }

  /** Makes any request over HTTP, with the body as JSON. Errors: CommandFailure if the server is not reached. */
  fetch({ verb, target, body }: RestRequest, headers: Readonly<Record<string, string>>): Promise<Response> {
    const answer = fetch(`${this.#server}${target}`, {
      method: verb,
      redirect: "manual", // the answer is what is checked, and nobody else gets the token
      headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
      signal: AbortSignal.timeout(this.#timeoutMs),
      ...(body !== undefined && { body }),
    });
    return answer.catch((error: Error) => {
      const reason = networkReason(error) ?? error.message;
      throw new CommandFailure(`cannot reach ${this.#server} (--server): ${reason}`, 6);
    });
  }

  async #overRest(
    method: DescMethod,
    request: JsonObject,
    headers: Readonly<Record<string, string>>,
  ): Promise<Outcome> {
    const response = await this.fetch(restRequest(method, request), headers);
    const body = await response.text();
    const rest = { httpStatus: response.status, body };
    this.#tell(method, "rest", response, body);
    if (!response.ok) return { status: statusOf(readJson(response, body) as Partial<Status>), rest };
    return { message: body === "" ? {} : wholeMessage(method.output, readJson(response, body)), rest };
  }

  async #overRpc(
    method: DescMethod,
    request: JsonObject,
    headers: Readonly<Record<string, string>>,
    over: "connect" | "grpc",
  ): Promise<Outcome> {
    const message = fromJson(method.input, request, { registry: contractRegistry() });
    try {
      const transport = this.#transports[over];
      const answer = await transport.unary(method as DescMethodUnary, undefined, undefined, headers, message);
      return { message: jsonOf(method.output, answer.message as Message) };
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      if (error.cause !== undefined) throw error.cause;
      if (withoutCode.test(error.rawMessage)) throw error;
      return { status: rpcStatusOf(error) };
    }
  }
}

/** The text of an error of HTTP that is none of Connect. */
const withoutCode = /^HTTP \d+$/;

function parsed(body: string): JsonValue | undefined {
  try {
    return JSON.parse(body) as JsonValue;
  } catch {
    return undefined; // the reader of the answer reports what it is instead
  }
}

/** The JSON of an answer; that of an error has a code. Errors: a plain Error that says what the answer is instead. */
function readJson({ ok, status, headers }: Response, body: string): JsonValue {
  const json = parsed(body);
  if (json !== undefined && (ok || typeof (json as JsonObject | null)?.code === "number")) return json;
  throw new Error(`HTTP ${status} with ${headers.get("content-type") ?? "no content type"}`);
}

/** A message of JSON, read and written again, so that all fields of the contract are there in one form. */
export function wholeMessage(schema: DescMessage, json: JsonValue): JsonObject {
  return jsonOf(schema, fromJson(schema, json, { registry: contractRegistry(), ignoreUnknownFields: true }));
}

function jsonOf(schema: DescMessage, message: Message): JsonObject {
  return toJson(schema, message, { registry: contractRegistry(), alwaysEmitImplicit: true }) as JsonObject;
}

/** The status of JSON; what is not there is "" or empty. */
function statusOf({ code = 0, message = "", details: list = [] }: Partial<Status>): Status {
  const kept = list.filter((detail) => detail["@type"] !== requestInfo);
  return { code, message, details: kept.map(wholeDetail) };
}

function wholeDetail({ "@type": type, ...json }: JsonObject): JsonObject {
  const schema = detailRegistry.getMessage(String(type).split("/").at(-1)!);
  if (schema === undefined) return { "@type": type ?? null, ...json };
  const message = fromJson(schema, json);
  return { "@type": type!, ...(toJson(schema, message, { alwaysEmitImplicit: true }) as JsonObject) };
}

function rpcStatusOf({ code, rawMessage, details: list }: PlatformError): Status {
  const all = list.map((detail): JsonObject => {
    if (!("value" in detail && detail.value instanceof Uint8Array)) return {};
    const type = (detail as { readonly type: string }).type;
    const schema = detailRegistry.getMessage(type);
    const json = schema === undefined ? {} : toJson(schema, fromBinary(schema, detail.value as Uint8Array));
    return { "@type": `type.googleapis.com/${type}`, ...(json as JsonObject) };
  });
  return statusOf({ code, message: rawMessage, details: all });
}
