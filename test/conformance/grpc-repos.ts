/**
 * ReposService over gRPC with a client that shares no code with the server: `@grpc/grpc-js`, by the descriptors of the
 * contract.
 */
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import {
  type ChannelCredentials,
  type Client,
  type ClientOptions,
  credentials,
  type GrpcObject,
  loadPackageDefinition,
  Metadata,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";

/** A client of one server; messages are plain objects with the proto files' field names. */
export interface GrpcRepos {
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect, and fail when it is not there.
  call(method: "ListRepos" | "CreateRepo" | "GetRepo", request: object): Promise<any>;
  close(): void;
}

/**
 * @param address `127.0.0.1:8080`
 * @param fields metadata of every call
 */
export function grpcRepos(
  address: string,
  token: string | undefined,
  channel: ChannelCredentials = credentials.createInsecure(),
  fields: Readonly<Record<string, string>> = {},
  options: ClientOptions = {},
): GrpcRepos {
  const packages = loadPackageDefinition(loadFileDescriptorSetFromBuffer(descriptors(), { longs: String }));
  const domain = ["platform", "registry", "v2"].reduce((at, name) => at[name] as GrpcObject, packages);
  const client: Client = new (domain.ReposService as ServiceClientConstructor)(address, channel, options);
  const metadata = new Metadata();
  if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
  for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
  return {
    call: (method, request) =>
      new Promise((resolve, reject) => {
        const rpc = (client as unknown as Record<string, (...args: unknown[]) => void>)[method]!;
        rpc.call(client, request, metadata, (error: Error | null, answer: unknown) =>
          error === null ? resolve(answer) : reject(error),
        );
      }),
    close: () => client.close(),
  };
}

/** The service's file and all that it imports, as `buf build` would write them. */
function descriptors(): Buffer {
  const files = new Map<string, typeof ReposService.file.proto>();
  const add = (file: typeof ReposService.file) => {
    if (files.has(file.name)) return;
    for (const dependency of file.dependencies) add(dependency);
    files.set(file.name, file.proto);
  };
  add(ReposService.file);
  const set = { $typeName: "google.protobuf.FileDescriptorSet" as const, file: [...files.values()] };
  return Buffer.from(toBinary(FileDescriptorSetSchema, set));
}
