/** The rows of a list: those that the caller may see, restricted by the hierarchy filters (`uidp.*`). */
import type { UidpFilter } from "../../gen/platform/common/uidp_filter_pb.ts";
import type { Selection, Subtree } from "../store/index.ts";
import { ancestorsOf, covers } from "../uid.ts";

/**
 * @param scopes the outermost scopes where the caller may list; [""] is the whole platform.
 * @param publicUids rows that every caller may list.
 */
export function selectionOf(
  scopes: readonly string[],
  publicUids: readonly string[],
  filter: UidpFilter | undefined,
): Selection {
  const visible: Subtree[] = [...scopes, ...publicUids].map((root) => ({ root, self: true }));
  const below = filter?.descendantsOf ?? "";
  const within = below === "" ? visible : visible.flatMap((subtree) => intersect(subtree, below));
  const uids = [
    ...(filter !== undefined && filter.ids.length > 0 ? [filter.ids] : []),
    ...(filter?.ancestorsOf ? [ancestorsOf(filter.ancestorsOf)] : []),
  ];
  const parents = [...(filter?.childrenOf ? [filter.childrenOf] : []), ...(filter?.inRoot ? [""] : [])];
  const [parent, other] = parents;
  if (other !== undefined) return { within: [] }; // no row is below a uid and at the root
  return {
    ...(within.some(({ root, self }) => root === "" && self) ? {} : { within }),
    ...(uids.length === 0 ? {} : { uids: uids.reduce((a, b) => a.filter((uid) => b.includes(uid))) }),
    ...(parent === undefined ? {} : { parent }),
  };
}

/** The part of `subtree` that is strictly below `ancestor`. */
function intersect(subtree: Subtree, ancestor: string): Subtree[] {
  if (covers(subtree.root, ancestor)) return [{ root: ancestor, self: false }];
  return covers(ancestor, subtree.root) ? [subtree] : [];
}
