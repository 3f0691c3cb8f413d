import { describe, expect, it } from "vitest";
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { holds, scopesHolding } from "../../src/auth/authority.ts";
import type { Narrowing } from "../../src/auth/caller.ts";
import { capabilityNamed } from "../../src/auth/capabilities.ts";
import type { Grant } from "../../src/auth/grant.ts";
import { narrower, narrowGrants, narrowingClaims, narrowingOf } from "../../src/auth/narrowing.ts";
import { TokenRejected } from "../../src/auth/tokens/token.ts";

const root = "a".repeat(40);
const other = "b".repeat(40);
const sub = `${root}/${"1".repeat(16)}`;
const deep = `${sub}/${"2".repeat(16)}`;
const sibling = `${root}/${"3".repeat(16)}`;
const list = capabilityNamed("repo.list");
const write = capabilityNamed("repo.update");
const groups = capabilityNamed("groups.list");

describe("narrowingOf", () => {
  it("reads what narrowingClaims writes", () => {
    const narrowings: Narrowing[] = [
      { scopes: [root] },
      { capabilities: [list, write] },
      { scopes: [], capabilities: [] },
      { scopes: [sub, sibling], capabilities: [list] },
    ];
    for (const narrowing of narrowings) expect(narrowingOf(narrowingClaims(narrowing))).toEqual(narrowing);
    expect(narrowingClaims({ capabilities: [list] })).toEqual({ cap: ["repo.list"] });
  });

  it("finds nothing where nothing is said", () => expect(narrowingOf({ sub: "a" })).toBeUndefined());

  it("keeps a restriction whose names it does not know", () =>
    expect(narrowingOf({ cap: ["a.name.of.tomorrow"] })).toEqual({ capabilities: [] }));

  it.each([{ scopes: root }, { scopes: [1] }, { scopes: ["nowhere"] }, { scopes: [""] }, { cap: null }, { cap: {} }])(
    "refuses %j",
    (claims) => expect(() => narrowingOf(claims)).toThrow(TokenRejected),
  );
});

describe("narrower", () => {
  const cases: [Narrowing, Narrowing, Narrowing][] = [
    [{}, {}, {}],
    [{ scopes: [root] }, {}, { scopes: [root] }],
    [{ scopes: [sub] }, { scopes: [root] }, { scopes: [sub] }],
    [{ scopes: [sub] }, { scopes: [deep] }, { scopes: [deep] }],
    [{ scopes: [sub] }, { scopes: [sub] }, { scopes: [sub] }],
    [{ scopes: [sub] }, { scopes: [sibling, other] }, { scopes: [] }],
    [{ scopes: [sub, other] }, { scopes: [root, other] }, { scopes: [sub, other] }],
    [{ scopes: [] }, { scopes: [root] }, { scopes: [] }],
    [{ capabilities: [list] }, { scopes: [root] }, { scopes: [root], capabilities: [list] }],
    [{ capabilities: [list, write] }, { capabilities: [write, groups] }, { capabilities: [write] }],
    [{ capabilities: [list] }, { capabilities: [write] }, { capabilities: [] }],
  ];
  it.each(cases)("%j and %j leave %j", (one, two, both) => {
    expect(narrower(one, two)).toEqual(both);
    expect(narrower(two, one)).toEqual(both);
  });
});

describe("narrowGrants", () => {
  const grants: Grant[] = [
    { scope: root, capabilities: new Set([list, groups]), identity: root },
    { scope: deep, capabilities: new Set([write]), identity: root },
    { scope: "", capabilities: new Set([groups]), identity: root },
  ];
  const may = (narrowing: Narrowing, scope: string, capability: Capability) =>
    holds(narrowGrants(grants, narrowing), scope, [capability]);

  it("leaves grants alone that nothing restricts", () => expect(narrowGrants(grants, {})).toEqual(grants));

  it("counts a grant above a scope only within it", () => {
    const narrowing = { scopes: [sub] };
    expect([root, sub, deep, sibling].map((scope) => may(narrowing, scope, list))).toEqual([false, true, true, false]);
    expect(scopesHolding(narrowGrants(grants, narrowing), [groups])).toEqual([sub]);
  });

  it("counts a grant below a scope where it is", () => {
    expect([sub, deep].map((scope) => may({ scopes: [root] }, scope, write))).toEqual([false, true]);
  });

  it("takes the whole platform down to its scopes", () => {
    expect([other, root, ""].map((scope) => may({ scopes: [other] }, scope, groups))).toEqual([true, false, false]);
  });

  it("counts only the capabilities named", () => {
    expect([list, groups].map((capability) => may({ capabilities: [groups, write] }, root, capability))).toEqual([
      false,
      true,
    ]);
    expect(may({ capabilities: [] }, root, list)).toBe(false);
    expect(may({ scopes: [] }, root, list)).toBe(false);
  });
});
