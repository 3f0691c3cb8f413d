/** The measured requests. */
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  CreateRepoRequestSchema,
  GetRepoRequestSchema,
  ListReposRequestSchema,
} from "../gen/platform/registry/v2/repos_pb.ts";
import { type Request, unique } from "./load.ts";

/** A running server, and the values for requests to it. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** Port for HTTP/1.1, if it is a separate one. */
  readonly http1Port?: number;
  readonly token: string;
  /** uid of the root group of all repos. */
  readonly root: string;
  /** uid of one repo. */
  readonly repo: string;
}

const newRepo = { name: `made-${unique}` };

const rest = (target: Target, path: string, body?: object): Request => ({
  ...http1(target, body === undefined ? "GET" : "POST", `/registry/v2/repos${path}`),
  body: base64(body === undefined ? "" : JSON.stringify(body)),
});

const connect = (target: Target, method: string, message: object): Request => {
  const request = http1(target, "POST", `/platform.registry.v2.ReposService/${method}`);
  const headers = { ...request.headers, "content-type": "application/json" };
  return { ...request, headers, body: base64(JSON.stringify(message)) };
};

const http1 = ({ host, port, http1Port = port, token }: Target, method: "GET" | "POST", path: string) =>
  ({ protocol: "http1", host, port: http1Port, method, path, headers: { authorization: `Bearer ${token}` } }) as const;

function grpc<Desc extends DescMessage>(
  { host, port, token }: Target,
  method: string,
  schema: Desc,
  init: MessageInitShape<Desc>,
): Request {
  const message = toBinary(schema, create(schema, init));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return {
    protocol: "h2",
    host,
    port,
    method: "POST",
    path: `/platform.registry.v2.ReposService/${method}`,
    headers: { authorization: `Bearer ${token}`, te: "trailers", "content-type": "application/grpc+proto" },
    body: base64(Buffer.concat([prefix, message])),
  };
}

const base64 = (body: string | Uint8Array) => Buffer.from(body).toString("base64");

/**
 * Requests by protocol and method. `list50` lists repos below the root group, `list50.all` all repos. Both responses
 * have 50 repos and a total.
 */
export const requests = {
  "rest.get": (target: Target) => rest(target, `/${target.repo}`),
  "rest.list50": (target: Target) => rest(target, `?uidp.descendants_of=${target.root}`),
  "rest.list50.all": (target: Target) => rest(target, "?page_size=50"),
  "rest.create": (target: Target) => rest(target, `/${target.root}`, newRepo),
  "connect.get": (target: Target) => connect(target, "GetRepo", { uid: target.repo }),
  "connect.list50": (target: Target) => connect(target, "ListRepos", { uidp: { descendantsOf: target.root } }),
  "connect.create": (target: Target) => connect(target, "CreateRepo", { parent: target.root, repo: newRepo }),
  "grpc.get": (target: Target) => grpc(target, "GetRepo", GetRepoRequestSchema, { uid: target.repo }),
  "grpc.list50": (target: Target) =>
    grpc(target, "ListRepos", ListReposRequestSchema, { uidp: { descendantsOf: target.root } }),
  "grpc.create": (target: Target) =>
    grpc(target, "CreateRepo", CreateRepoRequestSchema, { parent: target.root, repo: newRepo }),
} as const;

/** Name of a request. */
export type RequestName = keyof typeof requests;
