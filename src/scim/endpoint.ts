/**
 * The SCIM 2.0 service provider (RFC 7643, RFC 7644): a provisioning client, with the token of an identity provider,
 * keeps the users and groups of its organisation.
 *
 *     /scim/v2/ServiceProviderConfig, /ResourceTypes, /Schemas   what is supported
 *     /scim/v2/Users, /scim/v2/Groups                            GET (filter, startIndex, count), POST
 *     /scim/v2/.search, also below the two                       POST, a GET whose parameters are in the body
 *     /scim/v2/Users/{id}, /scim/v2/Groups/{id}                  GET, PUT, PATCH, DELETE (If-Match)
 */
import { ConnectError } from "@connectrpc/connect";
import { bearerIn } from "../auth/index.ts";
import { type Endpoint, type IncomingBodies, originOf } from "../http/index.ts";
import {
  breakOff,
  headerOf,
  onGone,
  type PortRequest,
  type PortResponse,
  readDeadline,
  send,
} from "../message/index.ts";
import type { EndpointCall, EndpointCalls, RunningCall } from "../pipeline/index.ts";
import { findProvisioningProvider, lockAccess } from "../services/index.ts";
import type { Database } from "../store/index.ts";
import { traceIdOf } from "../trace-context.ts";
import { readJson } from "./body.ts";
import { Directory, type DirectoryOptions } from "./directory.ts";
import { discovery, listSchema, nothingHere } from "./discovery.ts";
import { errorAnswer, ScimError } from "./errors.ts";
import { isId } from "./narrowing.ts";
import { type Parameters, parametersOf, readProjection, readQuery } from "./query.ts";
import { type Route, routeOf } from "./routes.ts";
import { type ResourceType, resourceTypes } from "./schemas.ts";

/** Whom the requests of provisioning clients count against, by their `Authorization`. */
export interface ScimPayers {
  /** Called for each request with a token: it is that of a provider, or of none. */
  learn(authorization: string, provider: string | undefined): void;
  payerOf(authorization: string | undefined): ReturnType<EndpointCall["payer"]>;
}

/** What {@link createScim} needs. */
export interface ScimOptions extends Pick<DirectoryOptions, "record" | "now"> {
  readonly database: Database;
  readonly calls: EndpointCalls;
  /** Where clients reach the server. */
  readonly baseUrl: string;
  readonly bodies: IncomingBodies;
  readonly maxBodyBytes: number;
  readonly payers: ScimPayers;
}

/** Where the endpoint is. */
export const scimPath = "/scim/v2";

interface Answer {
  readonly status: number;
  /** An object, or its JSON. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The endpoint of everything below {@link scimPath}. */
export function createScim(options: ScimOptions): Endpoint {
  const { database, calls, payers, baseUrl, bodies, maxBodyBytes, now } = options;
  const base = `${baseUrl}${scimPath}`;

  async function answer(
    route: Route,
    request: PortRequest,
    response: PortResponse,
    running: RunningCall,
  ): Promise<Answer> {
    const { name, id, type, query } = route;
    const { method = "" } = request;
    if (route.isNowhere) throw nothingHere();
    const document = discovery(base, name, id);
    if (document !== undefined) {
      if (method !== "GET") throw notAllowed(name, "GET");
      if (query.has("filter")) throw new ScimError(403, "this document cannot be filtered");
      return { status: 200, body: document };
    }
    if (name === "Me" || name === "Bulk") throw new ScimError(501, `${name} is not supported`);
    if (type === undefined && !route.isSearch) throw nothingHere();
    const directory = (session: DirectoryOptions["session"]) =>
      new Directory({ ...options, session, call: running, base });
    const reading = () => directory(database.readFor(running));
    const write = <T>(work: (entries: Directory) => Promise<T>) =>
      database.transact(
        async (session) => {
          await lockAccess(session, running.scope);
          return work(directory(session));
        },
        { call: running, payer: running.payer },
      );
    const body = () => readJson(request, response, { type, bodies, maxBytes: maxBodyBytes });
    const parameters: Parameters = (each) => query.get(each);
    if (route.isSearch || type === undefined) {
      if (method !== "POST") throw notAllowed(".search", "POST");
      const types = type === undefined ? resourceTypes : [type];
      return { status: 200, body: await list(types, parametersOf(await body()), reading()) };
    }
    const version = headerOf(request, "if-match");
    if (id === undefined || id === "") {
      if (method === "GET") return { status: 200, body: await list([type], parameters, reading()) };
      if (method !== "POST") throw notAllowed(name, "GET, POST");
    }
    const projection = readProjection(parameters, type);
    if (id === undefined || id === "") {
      const given = await body();
      const created = await write((entries) => entries.create(type, given, projection));
      return { status: 201, body: created.resource, headers: { etag: created.version, location: created.location } };
    }
    switch (method) {
      case "GET": {
        const found = await reading().read(type, id, projection);
        const headers = { etag: found.version };
        const isKnown = headerOf(request, "if-none-match")?.includes(found.version) === true;
        return isKnown ? { status: 304, headers } : { status: 200, body: found.resource, headers };
      }
      case "PUT":
      case "PATCH": {
        const given = await body();
        const changed = await write((entries) =>
          entries[method === "PUT" ? "replace" : "patch"](type, id, given, version, projection),
        );
        return { status: 200, body: changed.resource, headers: { etag: changed.version } };
      }
      case "DELETE":
        await write((entries) => entries.remove(type, id, version));
        return { status: 204 };
      default:
        throw notAllowed(name, "GET, PUT, PATCH, DELETE");
    }
  }

  /** Errors: ScimError 401 without the token of a provider. */
  async function callerOf(request: PortRequest, { type, id = "" }: Route) {
    const header = headerOf(request, "authorization");
    const token = header === undefined ? undefined : bearerIn(header);
    const found = token === undefined ? undefined : await findProvisioningProvider(database.read, token, now());
    if (header !== undefined) payers.learn(header, found?.isExpired === false ? found.provider : undefined);
    if (found === undefined) throw unknownToken();
    const { provider, isEnabled, isExpired } = found;
    const off = new ScimError(403, "provisioning is turned off for this identity provider");
    const denial = isExpired ? unknownToken() : isEnabled ? undefined : off;
    return { caller: provider, scope: provider, resource: type && isId(id) ? `${provider}/${id}` : "", denial };
  }

  async function serve(request: PortRequest, response: PortResponse): Promise<void> {
    const origin = originOf(request, response);
    let given: Answer;
    try {
      const route = routeOf(request.method ?? "", new URL(request.url ?? "/", "http://scim"), scimPath);
      given = await calls.run(
        {
          method: route.method,
          protocol: "scim",
          rateClass: route.rateClass,
          origin,
          traceId: traceIdOf(request.headers),
          payer: () => payers.payerOf(headerOf(request, "authorization")),
          timeoutMs: () => readDeadline(request)?.leftMs(),
          authenticate: () => callerOf(request, route),
          onGone: (end) => onGone(response, end),
        },
        (running) => answer(route, request, response, running),
      );
    } catch (reason) {
      given = errorAnswer(ConnectError.from(reason));
    }
    await write(response, given);
  }

  return (request, response) => {
    serve(request, response).catch(() => breakOff(response));
    return true;
  };
}

function write(response: PortResponse, { status, body, headers = {} }: Answer): Promise<void> {
  const content = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const type = body === undefined ? {} : { "content-type": "application/scim+json" };
  return Promise.resolve(send(response, { httpStatus: status, headers: { ...type, ...headers }, body: content }));
}

function unknownToken(): ScimError {
  return new ScimError(401, "a token for provisioning is needed", undefined, { "www-authenticate": "Bearer" });
}

function notAllowed(name: string, methods: string): ScimError {
  return new ScimError(405, `${name} takes ${methods}`, undefined, { allow: methods });
}

/** The resources of some types, one type after the other, in JSON. */
async function list(types: readonly ResourceType[], parameters: Parameters, directory: Directory): Promise<string> {
  const { startIndex, count, filter } = readQuery(parameters);
  const shown: string[] = [];
  let totalResults = 0;
  for (const type of types) {
    const query = { startIndex: Math.max(1, startIndex - totalResults), count: count - shown.length, filter };
    const { total, resources } = await directory.list(type, query, readProjection(parameters, type));
    totalResults += total;
    shown.push(...resources);
  }
  const head = JSON.stringify({ schemas: [listSchema], totalResults, startIndex, itemsPerPage: shown.length });
  return `${head.slice(0, -1)},"Resources":[${shown.join()}]}`;
}
