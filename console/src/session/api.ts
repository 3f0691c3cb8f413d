/** Calls of the server by descriptors, in JSON. */
import {
  type DescMethod,
  type DescMethodUnary,
  type FileRegistry,
  fromJson,
  type JsonObject,
  toJson,
} from "@bufbuild/protobuf";
import { Code, type Transport } from "@connectrpc/connect";
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { createPlatformTransport, PlatformError } from "../../../src/client/index.ts";

/** Calls of the server with the token of the session. */
export interface Api {
  /** Calls a method. Request and answer are in the JSON form of protobuf. Errors: PlatformError. */
  call(method: DescMethod, request: JsonObject, signal?: AbortSignal): Promise<JsonObject>;
  /** Takes a token that the server accepts. Errors: PlatformError with UNAUTHENTICATED for any other. */
  signIn(token: string): Promise<void>;
  signOut(): void;
  hasToken(): boolean;
}

/** The calls of one tab. The token is kept nowhere else. */
export function createApi(registry: FileRegistry): Api {
  let current: string | undefined;
  const transport = createPlatformTransport({
    server: location.origin,
    token: { token: async () => current },
  });
  const call = async (by: Transport, method: DescMethod, request: JsonObject, signal?: AbortSignal) => {
    const message = fromJson(method.input, request, { registry });
    const answer = await by.unary(method as DescMethodUnary, signal, undefined, undefined, message);
    return toJson(method.output, answer.message, { registry }) as JsonObject;
  };
  return {
    call: (method, request, signal) => call(transport, method, request, signal),
    async signIn(token) {
      const probe = registry.getService("platform.iam.v2.GroupsService")!.method.listGroups!;
      const server = { server: location.origin, token };
      await call(createPlatformTransport(server), probe, { pageSize: 1 });
      current = token;
    },
    signOut() {
      current = undefined;
    },
    hasToken: () => current !== undefined,
  };
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
