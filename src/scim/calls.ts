/** The calls that are about resources (RFC 7644, section 3). */
import { type Answer, hasCurrent } from "../message/index.ts";
import type { Directory } from "./directory.ts";
import { listSchema } from "./discovery.ts";
import { jsonAnswer } from "./errors.ts";
import { type Parameters, parametersOf, readProjection, readQuery } from "./query.ts";
import type { ScimRequest } from "./request.ts";
import type { ResourceType } from "./schemas.ts";

export async function list(type: ResourceType, request: ScimRequest): Promise<Answer> {
  return jsonAnswer(200, await pageOf([type], request.parameters, request.directory()));
}

/** A list whose parameters are in the body. */
export async function search(types: readonly ResourceType[], request: ScimRequest): Promise<Answer> {
  const [type] = types.length === 1 ? types : [];
  const parameters = parametersOf(await request.body(type));
  return jsonAnswer(200, await pageOf(types, parameters, request.directory()));
}

export async function get(type: ResourceType, request: ScimRequest): Promise<Answer> {
  const projection = readProjection(request.parameters, type);
  const { resource, version } = await request.directory().read(type, request.id, projection);
  const headers = { etag: version };
  const known = request.header("if-none-match");
  return known !== undefined && hasCurrent(known, version)
    ? { httpStatus: 304, headers, body: "" }
    : jsonAnswer(200, resource, headers);
}

export async function create(type: ResourceType, request: ScimRequest): Promise<Answer> {
  const projection = readProjection(request.parameters, type);
  const given = await request.body(type);
  const { resource, version, location } = await request.change((directory) =>
    directory.create(type, given, projection),
  );
  return jsonAnswer(201, resource, { etag: version, location });
}

/** Changes a resource, by PUT or by PATCH. */
export async function change(verb: "replace" | "patch", type: ResourceType, request: ScimRequest): Promise<Answer> {
  const { id, parameters } = request;
  const projection = readProjection(parameters, type);
  const change = { id, projection, body: await request.body(type), version: request.header("if-match") };
  const { resource, version } = await request.change((directory) => directory[verb](type, change));
  return jsonAnswer(200, resource, { etag: version });
}

export async function remove(type: ResourceType, request: ScimRequest): Promise<Answer> {
  await request.change((directory) => directory.remove(type, request.id, request.header("if-match")));
  return { httpStatus: 204, headers: {}, body: "" };
}

/** The resources of some types, one type after the other, in JSON. */
async function pageOf(types: readonly ResourceType[], parameters: Parameters, directory: Directory): Promise<string> {
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
