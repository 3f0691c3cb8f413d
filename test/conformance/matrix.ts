/**
 * Who may call what, for every method of the contract over every protocol. Generated from the descriptors: the
 * capabilities and the scope are those that the proto files name; what to call a method with comes from
 * `method-fixtures.ts`.
 */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, test } from "vitest";
import { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { type Json, ruleOf, scopePathOf } from "./contract.ts";
import { freshUid, makeGroup, makeMember } from "./fixtures.ts";
import { expectFixtures, methodFixtures, partOf } from "./method-fixtures.ts";
import { onCampaignServers, type Platform, protocols } from "./platform.ts";

/** Declares the matrix of some methods. */
export function describeMatrix(methods: ReadonlyMap<string, DescMethodUnary>): void {
  test("every method has a fixture", () => expectFixtures(methods.keys()));

  onCampaignServers("the matrix of authorization", (platform) => {
    /** Two branches of one organisation, and two organisations. */
    let branches: readonly [string, string];
    let organisations: readonly [string, string];
    const tokens = new Map<string, Promise<string>>();
    const subgroups = new Map<string, Promise<string>>();

    beforeAll(async () => {
      branches = [(await makeGroup(platform())).uid, (await makeGroup(platform())).uid];
      organisations = [(await makeGroup(platform(), "")).uid, (await makeGroup(platform(), "")).uid];
    });

    /** Somebody of the organisation who holds exactly `capabilities`, or a built-in role, in a branch. */
    function holding(may: readonly Capability[] | string, branch: string): Promise<string> {
      const key = `${branch} ${may}`;
      const token = tokens.get(key) ?? makeHolder(platform(), may, branch);
      tokens.set(key, token);
      return token;
    }

    /** A group in a branch. */
    function subgroupOf(branch: string): Promise<string> {
      const subgroup = subgroups.get(branch) ?? makeGroup(platform(), branch).then(({ uid }) => uid);
      subgroups.set(branch, subgroup);
      return subgroup;
    }

    for (const [name, method] of methods) {
      const fixture = methodFixtures[name];
      if (fixture === undefined) continue; // the first test says so
      const rule = ruleOf(method);
      const scope = fixture.scope ?? (rule.unscoped ? undefined : scopePathOf(method));
      const places = () => (fixture.isOfOrganisations ? organisations : branches);
      const request = () => fixture.request(platform(), places()[0]);
      let unchanged: Promise<Json> | undefined;
      /** The one request of all calls that change nothing: those that are refused, and reads. */
      const same = () => {
        unchanged ??= Promise.resolve(request());
        return unchanged;
      };

      describe(`${method.parent.typeName}.${method.name}`, () => {
        if (rule.open) {
          test("is open to everyone", async () => {
            await platform().read(name, await same(), { as: null });
          });
          return;
        }

        test("needs a token", async () => {
          const { message } = await platform().refused(name, await same(), "UNAUTHENTICATED", { as: null });
          expect(message).toBe("Unauthenticated: missing bearer token");
        });

        test.each([
          ["malformed", () => "not-a-token"],
          ["wrongly signed", () => spoil(platform().admin)],
          ["of an identity that never was", () => platform().token(freshUid())],
        ])("refuses a token that is %s", async (_, token) => {
          const { message } = await platform().refused(name, await same(), "UNAUTHENTICATED", { as: await token() });
          expect(message).toBe("Unauthenticated: invalid bearer token");
        });

        if (scope !== undefined) {
          test("needs the capability", async () => {
            const body = await same();
            const [here] = places();
            const nobody = await holding([Capability.CAP_VERSION_LIST], here);
            await platform().refused(name, body, "PERMISSION_DENIED", { as: nobody });
            for (const lacking of rule.capabilities.length > 1 ? rule.capabilities : []) {
              const others = rule.capabilities.filter((capability) => capability !== lacking);
              await platform().refused(name, body, "PERMISSION_DENIED", { as: await holding(others, here) });
            }
          });

          test.each([
            ["a viewer elsewhere", () => holding("viewer", places()[1])],
            ["an owner elsewhere", () => holding("owner", places()[1])],
            ["an owner of a subgroup", async () => holding("owner", await subgroupOf(places()[0]))],
          ])("refuses %s", async (_, token) => {
            await platform().refused(name, await same(), "PERMISSION_DENIED", { as: await token() });
          });

          test("says the same about what exists in another branch and what never did", async () => {
            const as = await holding(rule.capabilities, places()[1]);
            const existing = await same();
            partOf(existing, name, ...scope);
            const missing = withFreshUid(existing, scope);
            const about = async (body: Json) => {
              const status = await platform().refused(name, body, "PERMISSION_DENIED", { as });
              return JSON.stringify(status).replaceAll(partOf(body, name, ...scope), "UID");
            };
            expect(await about(existing)).toBe(await about(missing));
          });
        } else if (isList(method)) {
          test("lists nothing without the capability, nor what is in another branch", async () => {
            const body = await same();
            const [here, elsewhere] = places();
            const isOurs = (item: Json) => uidOf(item) === here || uidOf(item).startsWith(`${here}/`);
            const strangers = [
              await holding([Capability.CAP_VERSION_LIST], here),
              await holding(rule.capabilities, elsewhere),
            ];
            if (fixture.namesItems) {
              for (const as of strangers) await platform().refused(name, body, "NOT_FOUND", { as });
              return;
            }
            const [none, other] = await Promise.all(strangers.map((as) => platform().read(name, body, { as })));
            expect(itemsOf(method, other).filter(isOurs)).toEqual([]);
            expect(itemsOf(method, none).filter((item) => uidOf(item).includes("/"))).toEqual([]);
          });
        }

        test.each(protocols)("succeeds with just the capability, over %s", async (over) => {
          const as = await holding(rule.capabilities, places()[0]);
          const body = await (isRead(method) ? same() : request());
          if (fixture.fails === undefined) await platform().ok(name, body, { as, over });
          else await platform().refused(name, body, fixture.fails, { as });
        });
      });
    }
  });
}

async function makeHolder(platform: Platform, may: readonly Capability[] | string, branch: string): Promise<string> {
  const held = may.length === 0 ? [Capability.CAP_VERSION_LIST] : may;
  const [home = branch] = branch.split("/");
  return (await makeMember(platform, home, held, branch)).token;
}

/** The token with another signature. */
function spoil(token: string): string {
  const [header, claims, signature = ""] = token.split(".");
  return [header, claims, signature.replace(/^./, (first) => (first === "A" ? "B" : "A"))].join(".");
}

/** The request about something that never was, beside what `body` is about. */
function withFreshUid(body: Json, path: readonly string[]): Json {
  const [key, ...rest] = path;
  if (key === undefined) return freshUid(body.slice(0, Math.max(0, body.lastIndexOf("/"))));
  return Object.assign(Array.isArray(body) ? [...body] : { ...body }, { [key]: withFreshUid(body[key], rest) });
}

function isRead(method: DescMethodUnary): boolean {
  return method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

function isList(method: DescMethodUnary): boolean {
  return method.name.startsWith("List");
}

/** The uid of an item; in v1 it has other names. A type of events, which everybody may see, has none. */
function uidOf({ uid, id, group }: Json): string {
  return uid ?? id ?? group ?? "";
}

function itemsOf(method: DescMethodUnary, page: Json): Json[] {
  const field = method.output.fields.find(({ fieldKind }) => fieldKind === "list")!;
  return page[field.jsonName];
}
