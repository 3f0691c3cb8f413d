/** Lists of what is not a resource: pages, order, skip and total are those of every list. */
import { beforeAll, expect, test, vi } from "vitest";
import { type Json, methods } from "./contract.ts";
import { freshName, makeGroup, makeIdentity, makeRepo, makeRole, makeTag } from "./fixtures.ts";
import { fieldsOf } from "./outcome.ts";
import { onCampaignServers, protocols } from "./platform.ts";

test("every list has the same parameters", () => {
  const lists = [...methods.values()].filter(({ name }) => name.startsWith("List") || name === "SearchNames");
  expect(lists.length).toBeGreaterThan(20);
  for (const { name, input, output } of lists) {
    expect(Object.keys(input.field), name).toEqual(
      expect.arrayContaining(["pageSize", "pageToken", "orderBy", "skip"]),
    );
    expect(Object.keys(output.field), name).toEqual(expect.arrayContaining(["nextPageToken", "totalCount", "skipped"]));
  }
});

/** A list: its method, what it has in the group of the test, and how its items are told apart. */
const lists: readonly {
  readonly method: string;
  readonly items: string;
  readonly orders: readonly string[];
  /** The order of a list that names none. */
  readonly byDefault?: string;
  readonly key: (item: Json) => string;
  readonly request: (made: Made) => Json;
}[] = [
  {
    method: "ListAccess",
    items: "grants",
    orders: ["uid", "create_time", "updated_at", "createTime asc, uid"],
    key: ({ binding, groupInvite }) => binding || groupInvite,
    request: ({ group }) => ({ scope: group }),
  },
  {
    method: "ListAccess",
    items: "grants",
    orders: ["uid"],
    key: ({ binding }) => binding,
    request: ({ group, identity }) => ({ scope: group, identity }),
  },
  {
    method: "ListAuditRecords",
    items: "records",
    orders: ["time"],
    byDefault: "time desc",
    key: ({ id }) => id,
    request: ({ group }) => ({ scope: group, method: "CreateRepo" }),
  },
  {
    method: "ListDeliveries",
    items: "deliveries",
    orders: ["event_time", "eventTime"],
    byDefault: "event_time desc",
    key: ({ eventId }) => eventId,
    request: ({ subscription }) => ({ subscription }),
  },
  {
    method: "ListDeliveries",
    items: "deliveries",
    orders: ["event_time"],
    byDefault: "event_time desc",
    key: ({ eventId }) => eventId,
    request: ({ subscription }) => ({ subscription, type: "dev.platform.api.platform.registry.repo.*" }),
  },
  {
    method: "ListEventTypes",
    items: "eventTypes",
    orders: ["type"],
    byDefault: "type asc",
    key: ({ type }) => type,
    request: () => ({}),
  },
  {
    method: "SearchNames",
    items: "results",
    orders: ["name"],
    byDefault: "name asc",
    key: ({ type, uid }) => `${type} ${uid}`,
    request: ({ word }) => ({ prefix: word }),
  },
];

interface Made {
  readonly group: string;
  readonly subscription: string;
  readonly word: string;
  /** An identity with several bindings. */
  readonly identity: string;
}

onCampaignServers("a list of what is not a resource", (platform) => {
  let made: Made;

  beforeAll(async () => {
    const group = (await makeGroup(platform(), "")).uid;
    const inner = (await makeGroup(platform(), group)).uid;
    const subscription = { sink: "https://receiver.invalid/events" };
    const { uid } = await platform().ok("CreateSubscription", { parent: inner, subscription });
    await platform().ok("PauseSubscription", { uid });
    const word = freshName();
    for (let i = 0; i < 4; i++) {
      const repo = await platform().ok("CreateRepo", { parent: inner, repo: { name: `${word}-${i}` } });
      await makeTag(platform(), repo.uid, { name: `${word}-1` });
      await makeRole(platform(), inner, ["CAP_REPO_LIST"], { name: `${word}-2-${i}` });
    }
    await makeRepo(platform(), inner);
    const { uid: identity } = await makeIdentity(platform(), group);
    for (const parent of [inner, group, inner, group]) {
      const roleUid = (await makeRole(platform(), group, ["CAP_REPO_LIST"])).uid;
      await platform().ok("CreateRoleBinding", { parent, roleBinding: { identityUid: identity, roleUid } });
      await platform().ok("CreateGroupInvite", { parent, groupInvite: { roleUid, ttl: "3600s" } });
    }
    const isRecorded = async () => {
      const { deliveries } = await platform().ok("ListDeliveries", { subscription: uid, pageSize: 200 });
      expect(deliveries.filter(({ type }: Json) => type.endsWith("registry.repo.created.v1"))).toHaveLength(5);
    };
    await vi.waitFor(isRecorded, { timeout: 30_000 });
    made = { group: inner, subscription: uid, word, identity };
  });

  for (const { method, items, orders, byDefault, key, request } of lists) {
    const title = `${method} of ${Object.keys(request({ group: "", subscription: "", word: "", identity: "" })).join(" and ")}`;
    const read = async (more: Json) => (await platform().read(method, { ...request(made), ...more })) as Json;
    const keysOf = (page: Json) => page[items].map(key);

    test(`${title} comes in pages and has the total, in every order`, async () => {
      const whole = keysOf(await read({ pageSize: 200 }));
      expect(whole.length).toBeGreaterThan(3);
      expect(new Set(whole).size).toBe(whole.length);
      for (const orderBy of ["", ...orders, ...orders.map((order) => `${order.replace(/ asc/, "")} desc`)]) {
        const all = await read({ pageSize: 200, orderBy });
        expect(keysOf(all).toSorted()).toEqual(whole.toSorted());
        const walked: string[] = [];
        let pageToken: string | undefined = "";
        while (pageToken !== undefined) {
          const page: Json = await read({ pageSize: 3, pageToken, ...(pageToken === "" && { orderBy }) });
          expect(page).toMatchObject({ totalCount: String(whole.length), skipped: 0 });
          expect(page[items].length).toBeLessThanOrEqual(3);
          walked.push(...keysOf(page));
          pageToken = page.nextPageToken;
        }
        expect(walked, orderBy).toEqual(keysOf(all));
      }
    });

    test(`${title} is the same backwards`, async () => {
      for (const order of orders.filter((each) => !each.includes(","))) {
        const forth = keysOf(await read({ pageSize: 200, orderBy: order }));
        expect(keysOf(await read({ pageSize: 200, orderBy: `${order} asc` }))).toEqual(forth);
        expect(keysOf(await read({ pageSize: 200, orderBy: `${order} desc` }))).toEqual(forth.toReversed());
      }
      if (byDefault !== undefined)
        expect(keysOf(await read({ pageSize: 200 }))).toEqual(
          keysOf(await read({ pageSize: 200, orderBy: byDefault })),
        );
    });

    test(`${title} skips from the beginning, or from the token`, async () => {
      for (const orderBy of ["", ...orders]) {
        const all = keysOf(await read({ pageSize: 200, orderBy }));
        for (const skip of [1, 2, all.length - 1]) {
          const page = await read({ orderBy, skip, pageSize: 2 });
          expect(keysOf(page), `${orderBy} ${skip}`).toEqual(all.slice(skip, skip + 2));
          expect(page).toMatchObject({ skipped: skip, totalCount: String(all.length) });
        }
        const first = await read({ orderBy, pageSize: 1 });
        const later = await read({ pageToken: first.nextPageToken, skip: 1, pageSize: 2 });
        expect(keysOf(later)).toEqual(all.slice(2, 4));
        const behind = await read({ orderBy, skip: all.length + 5 });
        expect(behind).toMatchObject({ [items]: [], skipped: all.length + 5, totalCount: String(all.length) });
        expect(behind.nextPageToken).toBeUndefined();
      }
    });

    test.each([
      [{ orderBy: "nope" }, "order_by"],
      [{ orderBy: "" }, undefined],
      [{ skip: -1 }, "skip"],
      [{ pageSize: -1 }, "page_size"],
      [{ pageToken: "nope" }, "page_token"],
    ])(`${title} judges %j`, async (more, field) => {
      const body = { ...request(made), ...more };
      if (field === undefined) for (const over of protocols) await platform().ok(method, body, { over });
      else expect(fieldsOf(await platform().refused(method, body, "INVALID_ARGUMENT"))).toEqual([field]);
    });
  }
});
