import { useMutationState, useQueryClient } from "@tanstack/react-query";

/** The error of what was last sent from a form, also before somebody returned to it. */
export function useFailure(mutationKey: readonly string[]) {
  const mutations = useQueryClient().getMutationCache();
  const errors = useMutationState({ filters: { mutationKey }, select: ({ state }) => state.error });
  return {
    error: errors.at(-1) ?? null,
    forget() {
      for (const failed of mutations.findAll({ mutationKey, status: "error" })) mutations.remove(failed);
    },
  };
}
