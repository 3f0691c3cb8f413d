import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { PlatformError } from "../../../src/client/index.ts";
import { useMethod } from "../contract.ts";
import { useSession } from "../session/session.tsx";

/** A method of DeliveriesService by its local name: `listDeliveries`. */
export function useDeliveryMethod(name: string): DescMethod {
  return useMethod("platform.delivery.v1.DeliveriesService", name);
}

/**
 * A call of DeliveriesService that changes something. What has been read about deliveries is read again after it.
 * @param done what is said then, for a while.
 */
export function useDeliveryCall(name: string, done?: (answer: JsonObject) => string) {
  const { api } = useSession();
  const queries = useQueryClient();
  const method = useDeliveryMethod(name);
  return useMutation({
    mutationFn: (request: JsonObject) => api.call(method, request),
    onSuccess(answer) {
      if (done !== undefined) notifications.show({ message: done(answer), color: "green" });
      void queries.invalidateQueries({ queryKey: [method.parent.typeName] });
    },
    onError(error) {
      const id = error instanceof PlatformError && error.requestId !== undefined ? ` (request ${error.requestId})` : "";
      notifications.show({ title: "It was not done", message: `${error.message}${id}`, color: "red" });
    },
  });
}
