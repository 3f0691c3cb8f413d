/**
 * Advisories through the port, over every protocol: what they look like, every filter, and where their severities come
 * from.
 */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, test } from "vitest";
import { Severity_Type } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { ReviewState } from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import type { Json } from "./contract.ts";
import { advisory, event, importAdvisories, importMetadata } from "./feed-fixtures.ts";
import { freshName, freshUid, makeGroup, makeMember } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const at = (text: string) => timestampFromDate(new Date(text));
const detection = { case: "detection", value: { type: { case: "manual", value: {} } } } as const;
const fixed = { case: "fixed", value: { fixedVersion: "3.1.2-r0" } } as const;

onEveryServer("advisories", (platform) => {
  let group: string;
  /** Ids of the advisories that a list answers, as they were given here. */
  const found = async (filter: Json) => {
    const request = { uidp: { childrenOf: group }, orderBy: "create_time", ...filter };
    const { advisories, totalCount } = await platform().read("ListAdvisories", request);
    expect(totalCount).toBe(String(advisories.length));
    return advisories.map(({ advisoryId }: Json) => advisoryId).sort();
  };

  beforeAll(async () => {
    group = (await makeGroup(platform())).uid;
    await importAdvisories(
      platform(),
      group,
      advisory({
        advisoryId: "A1",
        artifactName: "openssl",
        componentName: "libssl3",
        componentLocation: `/${"deep/".repeat(40)}libssl.so`,
        componentType: "so",
        aliases: ["CVE-2026-0001", "GHSA-aaaa-bbbb-cccc"],
        events: [
          event({ createTime: at("2026-01-02T03:04:05.006Z"), type: detection, author: "ann", reviewer: "bob" }),
          event({ createTime: at("2026-01-03T00:00:00Z"), type: fixed, author: "cleo" }),
        ],
      }),
      advisory({
        advisoryId: "A2",
        artifactName: "openssl",
        artifactArchitecture: "arm64",
        aliases: ["CVE-2026-0002"],
        legacyAdvisoryId: "OLD-2",
        events: [
          event({ createTime: at("2026-01-02T00:00:00Z"), type: fixed, author: "ann" }),
          event({
            createTime: at("2026-01-03T00:00:00Z"),
            type: { case: "falsePositiveDetermination", value: { note: "Unused 100% of the_time" } },
            author: "cleo",
            reviewState: ReviewState.PENDING,
          }),
        ],
      }),
      advisory({
        advisoryId: "A3",
        artifactName: "Straße*\\\"%_'",
        artifactType: "jar",
        componentType: "go-module",
        events: [event({ type: detection, author: "dora", reviewState: ReviewState.REJECTED, reviewer: "bob" })],
      }),
      advisory({ advisoryId: "A4", artifactName: "bare" }),
    );
  });

  test("look as the feed has them, below their group", async () => {
    const request = { uidp: { childrenOf: group }, advisoryIds: ["A1"] };
    const { advisories } = await platform().read("ListAdvisories", request);
    const [listed] = advisories;
    expect(listed).toEqual({
      uid: expect.stringMatching(new RegExp(`^${group}/[0-9a-f]{16}$`)),
      advisoryId: "A1",
      createTime: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      updateTime: listed.createTime,
      author: "feed",
      artifactName: "openssl",
      artifactType: "apk",
      artifactArchitecture: "all",
      componentName: "libssl3",
      componentLocation: `/${"deep/".repeat(40)}libssl.so`,
      componentType: "so",
      aliases: ["CVE-2026-0001", "GHSA-aaaa-bbbb-cccc"],
      events: [
        {
          uid: expect.stringMatching(new RegExp(`^${listed.uid}/[0-9a-f]{16}$`)),
          createTime: "2026-01-03T00:00:00.000Z",
          findings: "",
          author: "cleo",
          reviewer: "",
          reviewState: "REVIEW_STATE_APPROVED",
          fixed: { fixedVersion: "3.1.2-r0", note: "", scannerVersion: "", grypeDbBuilt: "", grypeDbChecksum: "" },
        },
        {
          uid: expect.stringMatching(new RegExp(`^${listed.uid}/[0-9a-f]{16}$`)),
          createTime: "2026-01-02T03:04:05.006Z",
          findings: "",
          author: "ann",
          reviewer: "bob",
          reviewState: "REVIEW_STATE_APPROVED",
          detection: { manual: {} },
        },
      ],
      severities: [],
      etag: expect.any(String),
    });
    expect(listed.events[0].uid).not.toBe(listed.events[1].uid);
    expect(await platform().read("GetAdvisory", { uid: listed.uid })).toEqual(listed);
  });

  test("that are not there, or not in reach, are told apart only inside the caller's reach", async () => {
    await platform().refused("GetAdvisory", { uid: freshUid(group) }, "NOT_FOUND");
    await platform().refused("GetAdvisory", { uid: "" }, "INVALID_ARGUMENT");
    const { token } = await makeMember(platform(), (await makeGroup(platform())).uid, "owner");
    await platform().refused("GetAdvisory", { uid: freshUid(group) }, "PERMISSION_DENIED", { as: token });
    const { advisories, totalCount } = await platform().read("ListAdvisories", {}, { as: token });
    expect([advisories, totalCount]).toEqual([[], "0"]);
  });

  test.each<[string, Json, string[]]>([
    ["nothing", {}, ["A1", "A2", "A3", "A4"]],
    ["ids", { advisoryIds: ["A1", "A3", "else"] }, ["A1", "A3"]],
    ["ids of the earlier scheme", { legacyAdvisoryIds: ["OLD-2"] }, ["A2"]],
    ["artifact names", { artifactNames: ["openssl"] }, ["A1", "A2"]],
    ["artifact names in another case", { artifactNames: ["OpenSSL"] }, []],
    ["artifact types", { artifactTypes: ["jar", "deb"] }, ["A3"]],
    ["architectures", { artifactArchitectures: ["arm64"] }, ["A2"]],
    ["component names", { componentNames: ["libssl3"] }, ["A1"]],
    ["component types", { componentTypes: ["so", "go-module"] }, ["A1", "A3"]],
    ["component locations", { componentLocations: [`/${"deep/".repeat(40)}libssl.so`] }, ["A1"]],
    ["aliases", { aliases: ["CVE-2026-0002", "GHSA-aaaa-bbbb-cccc"] }, ["A1", "A2"]],
    ["an id as an alias", { aliases: ["A1"] }, []],
    ["several filters", { artifactNames: ["openssl"], aliases: ["CVE-2026-0002"] }, ["A2"]],
    ["several filters that exclude each other", { artifactNames: ["openssl"], artifactTypes: ["jar"] }, []],
    ["an origin", { origin: "openssl" }, ["A1", "A2"]],
    ["an origin, whatever the names", { origin: "bare", artifactNames: ["openssl"] }, ["A4"]],
    ["an empty origin", { origin: "", artifactNames: ["bare"] }, []],
    ["an empty value", { componentLocations: [""] }, []],
    ["an empty value beside another", { aliases: ["", "CVE-2026-0002"] }, ["A2"]],
    ["an empty author", { eventAuthors: [""] }, []],
    ["an empty reviewer of an event", { eventReviewers: [""], eventTypes: ["EVENT_TYPE_FILTER_FIXED"] }, []],
    ["an empty author that is excluded", { excludeEventAuthors: [""] }, ["A1", "A2", "A3", "A4"]],
    ["event types", { eventTypes: ["EVENT_TYPE_FILTER_FIXED"] }, ["A1", "A2"]],
    ["review states", { eventReviewStates: ["REVIEW_STATE_PENDING", "REVIEW_STATE_REJECTED"] }, ["A2", "A3"]],
    ["event authors", { eventAuthors: ["ann"] }, ["A1", "A2"]],
    ["reviewers", { eventReviewers: ["bob"] }, ["A1", "A3"]],
    ["two properties of one event", { eventTypes: ["EVENT_TYPE_FILTER_FIXED"], eventAuthors: ["ann"] }, ["A2"]],
    ["two properties of two events", { eventAuthors: ["cleo"], eventReviewers: ["bob"] }, []],
    [
      "all properties of one event",
      {
        eventTypes: ["EVENT_TYPE_FILTER_DETECTION"],
        eventAuthors: ["ann", "dora"],
        eventReviewers: ["bob"],
        eventReviewStates: ["REVIEW_STATE_APPROVED"],
      },
      ["A1"],
    ],
    ["excluded authors", { excludeEventAuthors: ["cleo"] }, ["A3", "A4"]],
    ["an author beside an excluded one", { eventAuthors: ["ann"], excludeEventAuthors: ["cleo"] }, []],
    ["the latest approved event", { latestEventType: "EVENT_TYPE_FILTER_FIXED" }, ["A1", "A2"]],
    ["the latest event, which is not approved", { latestEventType: "EVENT_TYPE_FILTER_DETECTION" }, []],
    ["no latest event", { latestEventType: "EVENT_TYPE_FILTER_UNSPECIFIED" }, ["A1", "A2", "A3", "A4"]],
    ["part of an artifact's name, in any case", { query: "PENS" }, ["A1", "A2"]],
    ["part of a component's name", { query: "libssl3" }, ["A1"]],
    ["part of an alias", { query: "ghsa-AAAA" }, ["A1"]],
    ["less than three characters", { query: "ß" }, ["A3"]],
    ["characters that mean something elsewhere", { query: "*\\\"%_'" }, ["A3"]],
    ["a wildcard that is none", { query: "open%" }, []],
    ["text of two values", { query: "ssl\nlib" }, []],
    ["text that is elsewhere", { query: "feed" }, []],
  ])("are filtered by %s", async (_, filter, expected) => {
    expect(await found(filter)).toEqual(expected);
  });

  test.each<[string, Json, string]>([
    ["an event type that says nothing", { eventTypes: ["EVENT_TYPE_FILTER_UNSPECIFIED"] }, "event_types[0]"],
    ["a review state that says nothing", { eventReviewStates: ["REVIEW_STATE_UNSPECIFIED"] }, "event_review_states[0]"],
    [
      "more combinations than are looked for",
      {
        eventAuthors: Array.from({ length: 20 }, (_, i) => `a${i}`),
        eventReviewers: Array.from({ length: 20 }, (_, i) => `r${i}`),
      },
      "event_authors",
    ],
    ["an unknown order", { orderBy: "artifact_type" }, "order_by"],
  ])("are not filtered by %s", async (_, filter, field) => {
    const status = await platform().refused("ListAdvisories", filter, "INVALID_ARGUMENT");
    expect(JSON.stringify(status.details)).toContain(JSON.stringify(field));
  });

  test("are sorted by id and by artifact, ties by uid in the direction of the last field", async () => {
    const { uid } = await makeGroup(platform());
    await importAdvisories(
      platform(),
      uid,
      ...["zlib", "curl"].flatMap((artifactName) =>
        ["B-2", "A-1", "a-3"].map((advisoryId) => advisory({ advisoryId, artifactName })),
      ),
    );
    const list = (request: Json) => platform().read("ListAdvisories", { uidp: { childrenOf: uid }, ...request });
    const { advisories: all } = await list({});
    const signs = { advisory_id: "advisoryId", artifact_name: "artifactName", uid: "uid" };
    for (const orderBy of [
      "advisory_id",
      "advisory_id desc",
      "artifact_name desc",
      "artifact_name,advisory_id desc",
      "artifact_name desc, advisory_id",
    ]) {
      const terms = orderBy.split(",").map((part) => part.trim().split(" "));
      const last = terms.at(-1)![1];
      const keys = [...terms, ["uid", last]] as [keyof typeof signs, string | undefined][];
      const expected = all.toSorted((a: Json, b: Json) => {
        const [field, direction] = keys.find(([key]) => a[signs[key]] !== b[signs[key]])!;
        return (a[signs[field]] < b[signs[field]] ? -1 : 1) * (direction === "desc" ? -1 : 1);
      });
      const listed = (await list({ orderBy })).advisories;
      expect(listed, orderBy).toEqual(expected);
      const paged: Json[] = [];
      for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
        const page: Json = await list({ orderBy, pageSize: 1, pageToken });
        paged.push(...page.advisories);
        pageToken = page.nextPageToken;
      }
      expect(paged, orderBy).toEqual(listed);
    }
    expect((await list({ orderBy: "artifactName,advisoryId" })).advisories[0]).toMatchObject({
      artifactName: "curl",
      advisoryId: "A-1",
    });
  });

  test("are listed page by page, a token standing for its filters", async () => {
    const request = { uidp: { descendantsOf: group }, eventAuthors: ["ann", "dora"], query: "s", pageSize: 1 };
    const ids: string[] = [];
    for (let pageToken = ""; ; ) {
      const next: Json = pageToken === "" ? request : { pageToken, pageSize: 1 };
      const page = await platform().read("ListAdvisories", next);
      expect(page.totalCount).toBe("3");
      ids.push(...page.advisories.map(({ advisoryId }: Json) => advisoryId));
      if (page.nextPageToken === undefined) break;
      pageToken = page.nextPageToken;
    }
    expect(ids.sort()).toEqual(["A1", "A2", "A3"]);
  });

  describe("have severities", () => {
    const vector = (score: string) => `CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:${score}`;
    const severities = [{ type: Severity_Type.CVSS_V3, score: vector("H") }];
    const cve = freshName("CVE");

    test.each(["advisory first", "metadata first"])("through their aliases, %s", async (order) => {
      const [advisoryId, ghsa, id] = [freshName("ADV"), freshName("GHSA"), freshName("PYSEC")];
      const steps = [
        () => importAdvisories(platform(), group, advisory({ advisoryId, aliases: [freshName("CVE"), ghsa] })),
        () => importMetadata(platform(), { id, aliases: [ghsa], severities }),
      ];
      for (const step of order === "advisory first" ? steps : steps.reverse()) await step();
      const { advisories } = await platform().read("ListAdvisories", { advisoryIds: [advisoryId] });
      expect(advisories[0].severities).toEqual([{ type: "TYPE_CVSS_V3", score: vector("H") }]);
      expect(await platform().read("GetAdvisory", { uid: advisories[0].uid })).toEqual(advisories[0]);
      await importMetadata(platform(), { id, aliases: [ghsa] });
      expect((await platform().read("GetAdvisory", { uid: advisories[0].uid })).severities).toEqual([]);
    });

    test("of every metadata that knows them, each once", async () => {
      const other = {
        type: Severity_Type.CVSS_V4,
        score: "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N",
      };
      await importMetadata(
        platform(),
        { id: cve, severities },
        { id: freshName("GHSA"), aliases: [cve], severities: [other, ...severities] },
        { id: freshName("GHSA"), aliases: [freshName("CVE")], severities: [{ ...other, score: "not ours" }] },
      );
      await importAdvisories(platform(), group, advisory({ advisoryId: cve }));
      const { advisories } = await platform().read("ListAdvisories", { advisoryIds: [cve] });
      expect(advisories[0].severities).toEqual([
        { type: "TYPE_CVSS_V3", score: vector("H") },
        { type: "TYPE_CVSS_V4", score: other.score },
      ]);
    });
  });

  test("keep their group from being deleted", async () => {
    const { uid } = await makeGroup(platform());
    const inner = (await makeGroup(platform(), uid)).uid;
    await importAdvisories(platform(), inner, advisory());
    const { message } = await platform().refused("DeleteGroup", { uid: inner }, "FAILED_PRECONDITION");
    expect(message).toBe("Precondition failed: cannot delete group with child advisories");
  });
});
