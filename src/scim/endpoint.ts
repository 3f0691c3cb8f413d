/**
 * The SCIM 2.0 service provider (RFC 7643, RFC 7644): a provisioning client, with the token of an identity provider,
 * keeps the users and groups of its organisation.
 *
 *     /scim/v2/ServiceProviderConfig, /ResourceTypes, /Schemas   what is supported
 *     /scim/v2/Users, /scim/v2/Groups                            GET (filter, startIndex, count), POST
 *     /scim/v2/.search, also below the two                       POST, a GET whose parameters are in the body
 *     /scim/v2/Users/{id}, /scim/v2/Groups/{id}                  GET, PUT, PATCH, DELETE (If-Match)
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { bearerIn } from "../auth/index.ts";
import { parseJson as checkJson, JsonSyntaxError } from "../codec/index.ts";
import type { Endpoint, IncomingBodies } from "../http/index.ts";
import { type Logger, roundMs } from "../log.ts";
import {
  breakOff,
  checkBodyHeaders,
  headerOf,
  type PortRequest,
  type PortResponse,
  Refusal,
  readBody,
  send,
} from "../message/index.ts";
import { callersError } from "../pipeline/index.ts";
import { findProvisioningProvider, lockAccess } from "../services/index.ts";
import type { Database, ReadSession } from "../store/index.ts";
import { traceIdOf } from "../trace-context.ts";
import { Directory, type DirectoryOptions, type ListQuery } from "./directory.ts";
import { errorBody, ScimError } from "./errors.ts";
import { parseFilter } from "./filter.ts";
import { describeAttribute, type ResourceType, resourceTypes, type Schema, schemas } from "./schemas.ts";

/** What {@link createScim} needs. */
export interface ScimOptions extends Pick<DirectoryOptions, "record" | "now"> {
  readonly database: Database;
  /** Where clients reach the server. */
  readonly baseUrl: string;
  readonly bodies: IncomingBodies;
  readonly maxBodyBytes: number;
  /** Called for each request with a token: it is that of a provider, or of none. */
  onCaller(authorization: string, provider: string | undefined): void;
  /** Takes an error that says that the database is unavailable; false for any other. */
  reportOutage(error: unknown): boolean;
  readonly log: Logger;
}

/** Where the endpoint is. */
export const scimPath = "/scim/v2";

interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

const listSchema = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

/** The endpoint of everything below {@link scimPath}. */
export function createScim(options: ScimOptions): Endpoint {
  const { database, baseUrl, bodies, maxBodyBytes, now, record, onCaller, reportOutage, log } = options;
  const base = `${baseUrl}${scimPath}`;

  async function answer(request: PortRequest, response: PortResponse): Promise<Answer> {
    const url = new URL(request.url ?? "/", "http://scim");
    const [name = "", id, ...others] = url.pathname
      .slice(scimPath.length + 1)
      .split("/")
      .map(decode);
    const provider = await requireProvider(database.read, headerOf(request, "authorization"), now(), onCaller);
    const method = request.method ?? "";
    if (others.length > 0) throw notFound();
    const document = discovery(base, name, id);
    if (document !== undefined) {
      if (method !== "GET") throw notAllowed(name, "GET");
      if (url.searchParams.has("filter")) throw new ScimError(403, "this document cannot be filtered");
      return { status: 200, body: document };
    }
    if (name === "Me" || name === "Bulk") throw new ScimError(501, `${name} is not supported`);
    const type = resourceTypes.find(({ endpoint }) => endpoint === `/${name}`);
    const isSearch = name === ".search" || id === ".search";
    if (type === undefined && !(name === ".search" && id === undefined)) throw notFound();
    const directory = (session: DirectoryOptions["session"]) => new Directory({ session, provider, base, now, record });
    const write = <T>(work: (entries: Directory) => Promise<T>) =>
      database.transact(async (session) => {
        await lockAccess(session, provider);
        return work(directory(session));
      });
    const version = headerOf(request, "if-match");
    if (isSearch || type === undefined) {
      if (method !== "POST") throw notAllowed(".search", "POST");
      const types = type === undefined ? resourceTypes : [type];
      return {
        status: 200,
        body: await list(types, parametersOf(await readJson(request, response)), directory(database.read)),
      };
    }
    const shown = (resource: Record<string, unknown>) => projected(resource, url.searchParams, type);
    if (id === undefined || id === "") {
      if (method === "GET")
        return { status: 200, body: await list([type], url.searchParams, directory(database.read)) };
      if (method !== "POST") throw notAllowed(name, "GET, POST");
      const body = await readJson(request, response);
      const created = await write((entries) => entries.create(type, body));
      return { status: 201, body: shown(created), headers: headersOf(created, true) };
    }
    switch (method) {
      case "GET": {
        const found = await directory(database.read).read(type, id);
        const isKnown = headerOf(request, "if-none-match")?.includes(metaOf(found).version) === true;
        return isKnown
          ? { status: 304, headers: headersOf(found) }
          : { status: 200, body: shown(found), headers: headersOf(found) };
      }
      case "PUT":
      case "PATCH": {
        const body = await readJson(request, response);
        const changed = await write((entries) =>
          method === "PUT" ? entries.replace(type, id, body, version) : entries.patch(type, id, body, version),
        );
        return { status: 200, body: shown(changed), headers: headersOf(changed) };
      }
      case "DELETE":
        await write((entries) => entries.remove(type, id, version));
        return { status: 204 };
      default:
        throw notAllowed(name, "GET, PUT, PATCH, DELETE");
    }
  }

  async function readJson(request: PortRequest, response: PortResponse): Promise<unknown> {
    checkBodyHeaders(request, "raw", maxBodyBytes);
    const bytes = await readBody(request, "raw", maxBodyBytes, bodies.watch(request, response, "anybody"));
    try {
      checkJson(bytes); // within the limits of depth and size that all JSON has
      return JSON.parse(Buffer.from(bytes).toString());
    } catch (error) {
      if (error instanceof JsonSyntaxError)
        throw new ScimError(400, `malformed JSON: ${error.message}`, "invalidSyntax");
      throw error;
    }
  }

  async function serve(request: PortRequest, response: PortResponse): Promise<void> {
    const startMs = performance.now();
    let status = 500;
    try {
      const given = await answer(request, response);
      status = given.status;
      await write(response, given);
    } catch (reason) {
      reportOutage(reason);
      const error = scimErrorOf(reason);
      status = error.httpStatus;
      if (status === 500) log.error({ err: reason, path: request.url }, "bug");
      await write(response, {
        status,
        body: errorBody(error),
        headers: error.headers,
      });
    } finally {
      const ms = roundMs(performance.now() - startMs);
      log.info(
        {
          method: `scim ${request.method}`,
          code: status,
          ms,
          requestId: request.headers["x-request-id"],
          traceId: traceIdOf(request.headers),
        },
        "call",
      );
    }
  }

  return (request, response) => {
    serve(request, response).catch(() => breakOff(response));
    return true;
  };
}

function write(response: PortResponse, { status, body, headers = {} }: Answer): Promise<void> {
  const content = body === undefined ? "" : JSON.stringify(body);
  const type = body === undefined ? {} : { "content-type": "application/scim+json" };
  return Promise.resolve(send(response, { httpStatus: status, headers: { ...type, ...headers }, body: content }));
}

function scimErrorOf(reason: unknown): ScimError {
  if (reason instanceof ScimError) return reason;
  if (reason instanceof Refusal) return new ScimError(reason.httpStatus ?? 400, reason.error.rawMessage);
  const error = callersError(reason);
  if (error instanceof ConnectError && error.code === Code.Unavailable)
    return new ScimError(503, "the database is not available", undefined, { "retry-after": "1" });
  if (error.code === Code.ResourceExhausted) return new ScimError(429, error.rawMessage);
  if (error.code === Code.Aborted) return new ScimError(409, "another change came first; try again");
  return new ScimError(500, "internal error");
}

/** Errors: ScimError 401 without the token of a provider, 403 while provisioning is off. */
async function requireProvider(
  session: ReadSession,
  header: string | undefined,
  nowMs: number,
  onCaller: ScimOptions["onCaller"],
): Promise<string> {
  const token = header === undefined ? undefined : bearerIn(header);
  const found = token === undefined ? undefined : await findProvisioningProvider(session, token, nowMs);
  if (header !== undefined) onCaller(header, found?.provider);
  if (found === undefined)
    throw new ScimError(401, "a token for provisioning is needed", undefined, { "www-authenticate": "Bearer" });
  if (!found.isEnabled) throw new ScimError(403, "provisioning is turned off for this identity provider");
  return found.provider;
}

function notAllowed(name: string, methods: string): ScimError {
  return new ScimError(405, `${name} takes ${methods}`, undefined, { allow: methods });
}

function notFound(): ScimError {
  return new ScimError(404, "there is nothing at this path");
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw notFound();
  }
}

/** The resources of some types, one type after the other. */
async function list(
  types: readonly ResourceType[],
  parameters: URLSearchParams,
  directory: Directory,
): Promise<object> {
  const { startIndex, count, filter } = readQuery(parameters);
  const shown: object[] = [];
  let totalResults = 0;
  for (const type of types) {
    const query = { startIndex: Math.max(1, startIndex - totalResults), count: count - shown.length, filter };
    const { total, resources } = await directory.list(type, query);
    totalResults += total;
    shown.push(...resources.map((resource) => projected(resource, parameters, type)));
  }
  return { schemas: [listSchema], totalResults, startIndex, itemsPerPage: shown.length, Resources: shown };
}

/** The parameters of a search, as in the query of a GET (RFC 7644, section 3.4.3). */
function parametersOf(body: unknown): URLSearchParams {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new ScimError(400, "the body must be an object", "invalidSyntax");
  const { filter, startIndex, count, attributes, excludedAttributes } = body as Record<string, unknown>;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ filter, startIndex, count, attributes, excludedAttributes }))
    if (value !== undefined && value !== null)
      parameters.set(name, Array.isArray(value) ? value.join() : String(value));
  return parameters;
}

const maxCount = 200;

function readQuery(parameters: URLSearchParams): ListQuery {
  const number = (name: string, otherwise: number) => {
    const text = parameters.get(name);
    if (text === null || text === "") return otherwise;
    if (!/^-?\d{1,9}$/.test(text)) throw new ScimError(400, `${name} must be a number`, "invalidValue");
    return Number(text);
  };
  const filter = parameters.get("filter");
  return {
    startIndex: Math.max(1, number("startIndex", 1)),
    count: Math.min(maxCount, Math.max(0, number("count", 100))),
    filter: filter === null || filter === "" ? undefined : parseFilter(filter),
  };
}

/** The attributes that the request wants (RFC 7644, section 3.9). */
function projected(
  resource: Record<string, unknown>,
  parameters: URLSearchParams,
  { schema, extension }: ResourceType,
) {
  const names = (parameter: string) =>
    (parameters.get(parameter) ?? "")
      .split(",")
      .map((name) => name.trim().toLowerCase().replace(`${schema.id.toLowerCase()}:`, ""))
      .filter(Boolean);
  const wanted = names("attributes");
  const unwanted = names("excludedAttributes");
  if (wanted.length === 0 && unwanted.length === 0) return resource;
  const always = new Set(["schemas", "id"]);
  const isIn = (list: readonly string[], key: string) =>
    list.some(
      (name) =>
        name === key ||
        name.startsWith(`${key}.`) ||
        (key === extension?.id.toLowerCase() && name.startsWith(`${key}:`)),
    );
  return Object.fromEntries(
    Object.entries(resource).filter(([key]) => {
      const name = key.toLowerCase();
      if (always.has(name)) return true;
      return wanted.length > 0 ? isIn(wanted, name) : !unwanted.includes(name);
    }),
  );
}

function metaOf(resource: Record<string, unknown>): { readonly location: string; readonly version: string } {
  return resource.meta as { location: string; version: string };
}

function headersOf(resource: Record<string, unknown>, isNew = false): Record<string, string> {
  const { location, version } = metaOf(resource);
  return { etag: version, ...(isNew && { location }) };
}

/** The documents about the service itself; undefined for another name. */
function discovery(base: string, name: string, id: string | undefined): object | undefined {
  switch (name) {
    case "ServiceProviderConfig":
      if (id !== undefined) throw notFound();
      return serviceProviderConfig(base);
    case "ResourceTypes":
      return listed(
        resourceTypes.map((type) => describeType(base, type)),
        id,
      );
    case "Schemas":
      return listed(
        schemas.map((schema) => describeSchema(base, schema)),
        id,
      );
    default:
      return undefined;
  }
}

function listed(all: readonly { readonly id: string }[], id: string | undefined): object {
  if (id === undefined || id === "")
    return { schemas: [listSchema], totalResults: all.length, startIndex: 1, itemsPerPage: all.length, Resources: all };
  const found = all.find((each) => each.id === id);
  if (found === undefined) throw notFound();
  return found;
}

function serviceProviderConfig(base: string): object {
  const no = { supported: false };
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
    patch: { supported: true },
    bulk: { ...no, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: maxCount },
    changePassword: no,
    sort: no,
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Bearer token",
        description: "The token that the identity provider was given for provisioning.",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
  };
}

function describeType(base: string, { id, endpoint, schema, extension }: ResourceType) {
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
    id,
    name: id,
    description: schema.description,
    endpoint,
    schema: schema.id,
    ...(extension !== undefined && { schemaExtensions: [{ schema: extension.id, required: false }] }),
    meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${id}` },
  };
}

function describeSchema(base: string, { id, name, description, attributes }: Schema) {
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
    id,
    name,
    description,
    attributes: attributes.map(describeAttribute),
    meta: { resourceType: "Schema", location: `${base}/Schemas/${id}` },
  };
}
