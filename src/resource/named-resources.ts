/** Resources that are found by their names, whatever their type. */
import { type Grant, narrowGrants, scopesHolding } from "../auth/index.ts";
import { readContract } from "../contract/index.ts";
import type { Selection, TableSpec } from "../store/index.ts";
import { covers } from "../uid.ts";
import { selectionOf } from "./hierarchy-filter.ts";
import type { MountedService } from "./implement.ts";

/** A resource whose List method filters by its name, which is in the indexed column `name`. */
export interface NamedResource {
  /** `iam.platform.internal/Group`. */
  readonly type: string;
  readonly table: TableSpec;
  /** What the List method shows to the holder of `grants`, of `scope` and what is below it; "" is everywhere. */
  visibleTo(grants: readonly Grant[], scope: string): Selection;
}

/** The named resources of services, by type. */
export function namedResources(services: readonly MountedService[]): readonly NamedResource[] {
  return services.flatMap(namedResourcesOf).sort((a, b) => (a.type < b.type ? -1 : 1));
}

function namedResourcesOf({ service, resources }: MountedService): NamedResource[] {
  const { methods } = readContract([service]);
  return resources.flatMap(({ contract, table, declaration: { publicUids = [] } }) => {
    const lister = methods.find(({ standard }) => standard?.verb === "List" && standard.kind === contract.kind);
    if (lister?.authorization.kind !== "unscoped") return [];
    if (!("name" in lister.method.input.field && "name" in table.columns)) return [];
    const { capabilities } = lister.authorization;
    return [
      {
        type: contract.type,
        table,
        visibleTo: (grants, scope) =>
          selectionOf(
            scopesHolding(narrowGrants(grants, { scopes: [scope] }), capabilities),
            publicUids.filter((uid) => covers(scope, uid)),
            undefined,
          ),
      },
    ];
  });
}
