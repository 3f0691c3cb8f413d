import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type UidpFilter, UidpFilterSchema } from "../../gen/platform/common/uidp_filter_pb.ts";
import { selectionOf } from "../../src/resource/hierarchy-filter.ts";

const root = "a".repeat(40);
const other = "b".repeat(40);
const child = `${root}/${"1".repeat(16)}`;
const grandchild = `${child}/${"2".repeat(16)}`;
const filter = (init: Partial<Omit<UidpFilter, "$typeName">>) => create(UidpFilterSchema, init);

describe("selectionOf", () => {
  it.each([
    ["everything without a filter", [""], undefined, {}],
    ["nothing without a scope", [], undefined, { within: [] }],
    ["the scopes themselves and below", [child], undefined, { within: [{ root: child, self: true }] }],
    [
      "below a uid that the scope covers",
      [root],
      filter({ descendantsOf: child }),
      { within: [{ root: child, self: false }] },
    ],
    [
      "the scope when the uid is above it",
      [grandchild],
      filter({ descendantsOf: root }),
      { within: [{ root: grandchild, self: true }] },
    ],
    ["nothing below a foreign uid", [child], filter({ descendantsOf: other }), { within: [] }],
    ["children", [""], filter({ childrenOf: child }), { parent: child }],
    ["roots", [""], filter({ inRoot: true }), { parent: "" }],
    ["nothing that is a child and a root", [""], filter({ inRoot: true, childrenOf: child }), { within: [] }],
    ["ancestors, itself excluded", [""], filter({ ancestorsOf: grandchild }), { uids: [root, child] }],
    ["exact uids", [""], filter({ ids: [root, other] }), { uids: [root, other] }],
    ["exact uids that are ancestors", [""], filter({ ids: [root, other], ancestorsOf: child }), { uids: [root] }],
  ] as const)("%s", (_, scopes, given, expected) => expect(selectionOf(scopes, [], given)).toEqual(expected));

  it("adds what everybody may list", () => {
    expect(selectionOf([], [other], undefined)).toEqual({ within: [{ root: other, self: true }] });
    expect(selectionOf([root], [other], filter({ descendantsOf: root }))).toEqual({ within: [{ root, self: false }] });
  });
});
