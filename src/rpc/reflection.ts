/**
 * gRPC server reflection, `grpc.reflection.v1` and `v1alpha`, which many tools still use. The two differ only in their
 * names. Files are served as they were generated, so that custom options survive.
 */
import { type DescFile, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionV1Alpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { unverifiedBytes } from "../http/index.ts";
import { indexDescriptors } from "./descriptor-index.ts";

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>;

/** Further declarations that reflection describes, for instance the types of a registry. */
export type Declared = Iterable<{ readonly file: DescFile }>;

/**
 * Mounts reflection for itself and the services that the router has so far. `further`: types that no service mentions,
 * such as error details.
 */
export function mountReflection(router: ConnectRouter, further: Declared = []): void {
  const services = new Set([
    ...router.handlers.map(({ service }) => service),
    ServerReflection,
    ServerReflectionV1Alpha,
  ]);
  const index = indexDescriptors([...services, ...further].map(({ file }) => file));
  const serviceNames = [...services].map(({ typeName }) => ({ name: typeName }));
  serviceNames.sort((a, b) => (a.name < b.name ? -1 : 1));

  const answer = ({ messageRequest }: ServerReflectionRequest, sent: Set<DescFile>): Answer => {
    switch (messageRequest.case) {
      case "fileByFilename":
        return files(index.fileByPath(messageRequest.value), messageRequest.value, sent);
      case "fileContainingSymbol":
        return files(index.fileBySymbol(messageRequest.value), messageRequest.value, sent);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = messageRequest.value;
        const extension = index.extensionsOf(containingType)?.get(extensionNumber);
        return files(extension?.file, `extension ${extensionNumber} of ${containingType}`, sent);
      }
      case "allExtensionNumbersOfType": {
        const baseTypeName = messageRequest.value;
        const extensions = index.extensionsOf(baseTypeName);
        if (extensions === undefined) return failure(Code.NotFound, `${baseTypeName} does not exist`);
        const value = { baseTypeName, extensionNumber: [...extensions.keys()] };
        return { case: "allExtensionNumbersResponse", value };
      }
      case "listServices":
        return { case: "listServicesResponse", value: { service: serviceNames } };
      case undefined:
        return failure(Code.InvalidArgument, "message_request is not set");
    }
  };

  async function* serverReflectionInfo(requests: AsyncIterable<ServerReflectionRequest>) {
    const sent = new Set<DescFile>();
    for await (const request of requests) {
      yield { validHost: request.host, originalRequest: request, messageResponse: answer(request, sent) };
    }
  }

  router.service(ServerReflection, { serverReflectionInfo }, { readMaxBytes: unverifiedBytes });
  const sameInV1Alpha = { serverReflectionInfo } as unknown as ServiceImpl<typeof ServerReflectionV1Alpha>;
  router.service(ServerReflectionV1Alpha, sameInV1Alpha, { readMaxBytes: unverifiedBytes });
}

/** The file and its imports, without those that were sent on this stream before. */
function files(file: DescFile | undefined, asked: string, sent: Set<DescFile>): Answer {
  if (file === undefined) return failure(Code.NotFound, `${asked} does not exist`);
  const toSend = new Set([file]);
  for (const { dependencies } of toSend)
    for (const dependency of dependencies) if (!sent.has(dependency)) toSend.add(dependency);
  for (const each of toSend) sent.add(each);
  const fileDescriptorProto = [...toSend].map(encoded);
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

const encodedFiles = new WeakMap<DescFile, Uint8Array>();

/** A file as it is sent: encoding it takes far longer than the rest of an answer. */
function encoded(file: DescFile): Uint8Array {
  const bytes = encodedFiles.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
  encodedFiles.set(file, bytes);
  return bytes;
}

function failure(errorCode: Code, text: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage: text } };
}
