/** Documents through the port, over every protocol. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { beforeAll, expect, test } from "vitest";
import type { Json } from "./contract.ts";
import { importDocuments } from "./feed-fixtures.ts";
import { freshName, freshUid, makeIdentity } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

onEveryServer("documents", (platform) => {
  const idsOf = ({ documents }: Json) => documents.map(({ id }: Json) => id);

  beforeAll(async () => {
    const fixed = { case: "fixed", value: { fixedVersion: "3.1.2-r0" } } as const;
    const timestamp = timestampFromDate(new Date("2026-01-02T03:04:05.006Z"));
    await importDocuments(
      platform(),
      {
        id: "openssl",
        advisories: [
          { id: "ADV-1", aliases: ["CVE-2026-0001"], packageNamespace: "main", events: [{ timestamp, data: fixed }] },
          { id: "ADV-2", aliases: ["CVE-2026-0002", "GHSA-aaaa-bbbb-cccc"], events: [{ data: fixed }] },
        ],
      },
      { id: "zlib", advisories: [{ id: "ADV-3", aliases: ["CVE-2026-0001"] }] },
      { id: "curl/with spaces", advisories: [] },
    );
  });

  test("look as the feed has them", async () => {
    const document = await platform().read("GetDocument", { uid: "openssl" });
    const value = { fixedVersion: "3.1.2-r0", scannerVersion: "", grypeDbBuilt: "", grypeDbChecksum: "" };
    expect(document).toEqual({
      id: "openssl",
      advisories: [
        {
          id: "ADV-1",
          aliases: ["CVE-2026-0001"],
          packageNamespace: "main",
          events: [{ timestamp: "2026-01-02T03:04:05.006Z", fixed: value }],
        },
        {
          id: "ADV-2",
          aliases: ["CVE-2026-0002", "GHSA-aaaa-bbbb-cccc"],
          packageNamespace: "",
          events: [{ fixed: value }],
        },
      ],
      uid: expect.stringMatching(/^[0-9a-f]{40}$/),
      createTime: expect.stringMatching(/\.\d{3}Z$/),
      updateTime: document.createTime,
      etag: expect.any(String),
    });
    expect(await platform().read("GetDocument", { uid: document.uid })).toEqual(document);
    expect((await platform().read("ListDocuments", { id: "openssl" })).documents).toEqual([document]);
  });

  test("are found by ids that a path must escape", async () => {
    expect(await platform().read("GetDocument", { uid: "curl/with spaces" })).toMatchObject({ id: "curl/with spaces" });
  });

  test("that are not there are not found", async () => {
    const { details } = await platform().refused("GetDocument", { uid: "openss" }, "NOT_FOUND");
    expect(details[1]).toMatchObject({ resourceType: "advisory.platform.internal/Document", resourceName: "openss" });
    await platform().refused("GetDocument", { uid: freshUid() }, "NOT_FOUND");
    await platform().refused("GetDocument", { uid: "CVE-2026-0001" }, "NOT_FOUND");
    for (const over of ["grpc", "connect"] as const) {
      const outcome = await platform().call("GetDocument", { uid: "" }, { over });
      expect(outcome.ok ? "" : outcome.status.message).toBe("Invalid argument: uid: is required");
    }
  });

  test.each<[string, Json, string[]]>([
    ["nothing", {}, ["curl/with spaces", "openssl", "zlib"]],
    ["an id", { id: "zlib" }, ["zlib"]],
    ["part of an id", { id: "zli" }, []],
    ["an alias", { cves: ["CVE-2026-0001"] }, ["openssl", "zlib"]],
    ["aliases of which one is known", { cves: ["GHSA-aaaa-bbbb-cccc", "CVE-else"] }, ["openssl"]],
    ["the id of an advisory", { cves: ["ADV-3"] }, ["zlib"]],
    ["an id and an alias", { id: "zlib", cves: ["CVE-2026-0002"] }, []],
    ["an order", { orderBy: "id desc" }, ["zlib", "openssl", "curl/with spaces"]],
  ])("are listed by %s", async (_, request, expected) => {
    const page = await platform().read("ListDocuments", request);
    expect([idsOf(page), page.totalCount, page.skipped]).toEqual([expected, String(expected.length), 0]);
  });

  test("are the same for everybody, page by page", async () => {
    const identity = await makeIdentity(platform(), platform().root);
    const as = await platform().token(identity.uid);
    const first = await platform().read("ListDocuments", { pageSize: 2 }, { as });
    const { nextPageToken: pageToken } = first;
    const second = await platform().read("ListDocuments", { pageToken }, { as });
    expect([...idsOf(first), ...idsOf(second)]).toEqual(["curl/with spaces", "openssl", "zlib"]);
    expect([first.totalCount, second.totalCount, second.nextPageToken]).toEqual(["3", "3", undefined]);
    expect(idsOf(await platform().read("ListDocuments", { skip: 2 }, { as }))).toEqual(["zlib"]);
  });

  test("of a package are one, as it was imported last", async () => {
    const id = freshName("package");
    await importDocuments(platform(), { id, advisories: [{ id: "OLD", aliases: ["CVE-OLD"] }] });
    const before = await platform().read("GetDocument", { uid: id });
    await importDocuments(platform(), { id, advisories: [{ id: "OLD", aliases: ["CVE-OLD"] }] });
    expect(await platform().read("GetDocument", { uid: id })).toEqual(before);
    await importDocuments(platform(), { id, advisories: [{ id: "NEW", aliases: [] }] });
    const after = await platform().read("GetDocument", { uid: id });
    expect([after.uid, after.createTime, after.advisories[0].id]).toEqual([before.uid, before.createTime, "NEW"]);
    expect(after.etag).not.toBe(before.etag);
    expect(idsOf(await platform().read("ListDocuments", { cves: ["CVE-OLD"] }))).toEqual([]);
  });
});
