/** Calls of the server by descriptors, in JSON. */
import {
  type DescMethod,
  type DescMethodUnary,
  type FileRegistry,
  fromJson,
  type JsonObject,
  toJson,
} from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { createPlatformTransport, PlatformError, type TokenSource } from "../../../src/client/index.ts";

/** Calls of the server with the token of the session. */
export interface Api {
  /** Calls a method. Request and answer are in the JSON form of protobuf. Errors: PlatformError. */
  call(method: DescMethod, request: JsonObject, signal?: AbortSignal): Promise<JsonObject>;
}

/** The calls with the tokens of a source. */
export function createApi(registry: FileRegistry, token: string | TokenSource): Api {
  const transport = createPlatformTransport({ server: location.origin, token });
  return {
    async call(method, request, signal) {
      const message = fromJson(method.input, request, { registry });
      const answer = await transport.unary(method as DescMethodUnary, signal, undefined, undefined, message);
      return toJson(method.output, answer.message, { registry }) as JsonObject;
    },
  };
}

/** Checks that the server accepts a token. Errors: PlatformError with UNAUTHENTICATED for any other. */
export async function checkToken(registry: FileRegistry, token: string): Promise<void> {
  const probe = registry.getService("platform.iam.v2.GroupsService")!.method.listGroups!;
  await createApi(registry, token).call(probe, { pageSize: 1 });
}

/** What has been read, and is being read. Calls are repeated by the transport. */
export function createQueries(onUnauthenticated: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (error instanceof PlatformError && error.code === Code.Unauthenticated) onUnauthenticated();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: { queries: { retry: false, staleTime: 10_000 }, mutations: { retry: false } },
  });
}
