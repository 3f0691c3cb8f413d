/**
 * A page ends early before it comes to what gRPC clients refuse by default, 4 MiB; the one used here has that limit.
 */
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { beforeAll, expect, test } from "vitest";
import { Severity_Type } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { type Json, methodNamed } from "./contract.ts";
import { advisory, importAdvisories, importMetadata } from "./feed-fixtures.ts";
import { freshName, makeGroup, makeRepo } from "./fixtures.ts";
import { onEveryServer, protocols } from "./platform.ts";

const mebi = 1024 * 1024;

onEveryServer("a page of large items", (platform) => {
  /** Every page of a list of at most 200 items, each over another protocol. */
  async function walk(method: string, request: Json): Promise<Json[]> {
    const pages: Json[] = [];
    for (let pageToken: string | undefined; pages.length === 0 || pageToken !== undefined; ) {
      const over = protocols[pages.length % protocols.length]!;
      const page = await platform().ok(method, { ...request, pageSize: 200, pageToken }, { over });
      pages.push(page);
      pageToken = page.nextPageToken;
    }
    return pages;
  }
  function expectWhole(method: string, pages: Json[], key: string, count: number) {
    const { output } = methodNamed(method);
    const sizes = pages.map((page) => toBinary(output, fromJson(output, page)).length);
    for (const size of sizes) expect(size).toBeLessThanOrEqual(3.5 * mebi);
    for (const size of sizes.slice(0, -1)) expect(size, "no page ends much too early").toBeGreaterThan(3.2 * mebi);
    expect(pages.length).toBeGreaterThan(1);
    expect(new Set(pages.map(({ totalCount }) => totalCount))).toEqual(new Set([String(count)]));
    const uids = pages.flatMap((page) => page[key].map(({ uid }: Json) => uid));
    expect([uids.length, new Set(uids).size]).toEqual([count, count]);
  }

  let group: string;
  beforeAll(async () => {
    group = (await makeGroup(platform())).uid;
  });

  test("of repos with many aliases ends early with a token, over every protocol", async () => {
    const aliases = Array.from({ length: 100 }, (_, i) => `${"a".repeat(500)}:${i}`);
    const activeTags = Array.from({ length: 1000 }, (_, i) => `${"t".repeat(120)}-${i}`);
    for (let i = 0; i < 40; i++) await makeRepo(platform(), group, { aliases, activeTags });
    const request = { uidp: { childrenOf: group }, orderBy: "name desc" };
    expectWhole("ListRepos", await walk("ListRepos", request), "repos", 40);
    const [first, ...others] = await Promise.all(
      protocols.map((over) => platform().ok("ListRepos", { ...request, pageSize: 200 }, { over })),
    );
    for (const other of others) expect(other.repos).toEqual(first!.repos);
    const skipped = await platform().ok("ListRepos", { ...request, pageSize: 200, skip: 30 }, { over: "grpc" });
    expect([skipped.repos.length, skipped.nextPageToken]).toEqual([10, undefined]);
  });

  test("counts what completes its items, too", async () => {
    const alias = freshName("CVE");
    const severities = Array.from({ length: 100 }, (_, i) => ({
      type: Severity_Type.CVSS_V3,
      score: `CVSS:3.1/${String(i).padStart(500, "x")}`,
    }));
    await importMetadata(platform(), { id: alias, severities });
    const all = Array.from({ length: 100 }, () => advisory({ aliases: [alias], artifactName: "rated" }));
    await importAdvisories(platform(), group, ...all);
    const request = { uidp: { childrenOf: group }, artifactNames: ["rated"] };
    expectWhole("ListAdvisories", await walk("ListAdvisories", request), "advisories", 100);
  });

  test("holds one item at least, however large it is", async () => {
    const ids = [freshName("CVE"), freshName("CVE"), freshName("CVE")];
    const references = Array.from({ length: 600 }, (_, i) => ({ url: `https://example.com/${"r".repeat(8000)}${i}` }));
    await importMetadata(platform(), ...ids.map((id) => ({ id, references })));
    const seen: string[] = [];
    for (let pageToken: string | undefined; seen.length === 0 || pageToken !== undefined; ) {
      const page = await platform().ok("ListVulnerabilityMetadata", { ids, pageToken });
      expect(page.vulnerabilityMetadata).toHaveLength(1);
      seen.push(page.vulnerabilityMetadata[0].id);
      pageToken = page.nextPageToken;
    }
    expect(seen).toEqual(ids.toSorted());
  });
});
