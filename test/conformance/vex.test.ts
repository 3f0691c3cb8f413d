/** Statements of OpenVEX documents through the port: each is about the version and the subcomponents that it names. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere } from "../cli/run-here.ts";
import type { Json } from "./contract.ts";
import { importPackages } from "./feed-fixtures.ts";
import { digestOf, freshName, makeGroup, makeRepo, makeTag } from "./fixtures.ts";
import { methodFixtures } from "./method-fixtures.ts";
import { onEveryServer, protocols } from "./platform.ts";

interface Statement {
  readonly name: string;
  readonly products: readonly (string | { readonly "@id": string; readonly subcomponents: readonly object[] })[];
  readonly status: string;
  readonly timestamp?: string;
}

function vex(...statements: readonly Statement[]): object {
  return {
    "@context": "https://openvex.dev/ns/v0.2.0",
    "@id": "https://vex.example.com/same",
    author: "Example Security",
    timestamp: "2026-03-01T00:00:00Z",
    version: 1,
    statements: statements.map(({ name, products, ...more }) => ({
      vulnerability: { name },
      products: products.map((product) => (typeof product === "string" ? { "@id": product } : product)),
      ...more,
    })),
  };
}

onEveryServer("OpenVEX", (platform) => {
  /** Imports the documents as one feed of a new group. */
  async function importVex(documents: Readonly<Record<string, object>>, group?: string) {
    const into = group ?? (await makeGroup(platform())).uid;
    const folder = await mkdtemp(join(tmpdir(), "vex-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    for (const [name, document] of Object.entries(documents)) {
      await mkdir(join(folder, name, ".."), { recursive: true });
      await writeFile(join(folder, name), JSON.stringify(document));
    }
    const args = ["--group", into, "--feed", "vex", "--database", platform().databaseUrl];
    const { code, stderr } = await runHere(["import", "advisories", folder, ...args, "--prune"]);
    expect([code, stderr]).toEqual([0, ""]);
    return into;
  }

  const list = async (group: string, filter: Json = {}, options: Json = {}) => {
    const request = { uidp: { childrenOf: group }, orderBy: "advisory_id", ...filter };
    return (await platform().read("ListAdvisories", request, options)).advisories as Json[];
  };
  const documentOf = async (id: string) => (await platform().read("ListDocuments", { id })).documents[0] as Json;
  const eventOf = ({ events: [event] }: Json) =>
    Object.keys(event).find((name) => /^(fixed|.*Determination)$/.test(name));

  test("of several documents about one product are merged", async () => {
    const name = freshName("two-docs");
    const product = `pkg:apk/wolfi/${name}@1.0-r0`;
    const group = await importVex({
      "cve-1001.openvex.json": vex({ name: "CVE-2026-1001", products: [product], status: "not_affected" }),
      "cve-1002.openvex.json": vex({ name: "CVE-2026-1002", products: [product], status: "fixed" }),
    });
    const { advisories } = await documentOf(name);
    expect(advisories.map(({ id, packageUrl }: Json) => [id, packageUrl]).sort()).toEqual([
      ["CVE-2026-1001", product],
      ["CVE-2026-1002", product],
    ]);
    for (const over of protocols) {
      const listed = await list(group, { artifactVersions: ["1.0-r0"] }, { over });
      expect(listed.map((each) => [each.advisoryId, each.packageUrl, eventOf(each)])).toEqual([
        ["CVE-2026-1001", product, "falsePositiveDetermination"],
        ["CVE-2026-1002", product, "fixed"],
      ]);
    }
    expect(await list(group, { artifactVersions: ["2.0-r0"] })).toEqual([]);
  });

  test("is about the version and the subcomponent that it names", async () => {
    const name = freshName("app");
    const app = (version: string, ...subcomponents: string[]) => ({
      "@id": `pkg:golang/example.com/${name}@${version}`,
      subcomponents: subcomponents.map((each) => ({ "@id": each })),
    });
    const [stdlib, net] = ["pkg:golang/stdlib@v1.22.7", "pkg:golang/golang.org/x/net@v0.1.0"];
    const group = await importVex({
      "a.json": vex(
        { name: "CVE-1", products: [app("1.0.0", stdlib, net)], status: "affected" },
        { name: "CVE-1", products: [app("2.0.0", stdlib)], status: "not_affected" },
      ),
      "sub/later.json": vex({
        name: "CVE-1",
        products: [app("1.0.0", net)],
        status: "not_affected",
        timestamp: "2026-03-02T00:00:00Z",
      }),
      "z-earlier.json": vex({
        name: "CVE-1",
        products: [app("2.0.0", stdlib)],
        status: "affected",
        timestamp: "2026-02-01T00:00:00Z",
      }),
    });
    const all = await list(group);
    const latest = all.map((each) => [each.artifactVersion, each.subcomponent, eventOf(each)]).sort();
    expect(latest).toEqual([
      ["1.0.0", net, "falsePositiveDetermination"],
      ["1.0.0", stdlib, "truePositiveDetermination"],
      ["2.0.0", stdlib, "falsePositiveDetermination"],
    ]);
    const open = await list(group, { latestEventType: "EVENT_TYPE_FILTER_TRUE_POSITIVE_DETERMINATION" });
    expect(open.map(({ artifactVersion, componentName }) => [artifactVersion, componentName])).toEqual([
      ["1.0.0", "stdlib"],
    ]);
    const document = await documentOf(`example.com/${name}`);
    const said = document.advisories.map((each: Json) => [each.packageUrl, each.subcomponent, eventOf(each)]).sort();
    expect(said).toEqual(latest.map(([version, ...more]) => [app(version)["@id"], ...more]));
    const v1 = await platform().read("v1.SecurityAdvisory.ListDocuments", { id: `example.com/${name}` });
    expect(v1.items[0].advisories.map((each: Json) => each.packageUrl).sort()).toEqual(
      said.map(([packageUrl]: string[]) => packageUrl),
    );
  });

  test("resolves a vulnerability in the versions that it says so of", async () => {
    const [regressed, half, later] = ["regressed", "half", "later"].map(freshName) as [string, string, string];
    const of = (name: string, version: string, ...subcomponents: string[]) => ({
      "@id": `pkg:apk/wolfi/${name}@${version}`,
      subcomponents: subcomponents.map((each) => ({ "@id": each })),
    });
    const group = await importVex({
      "a.json": vex(
        { name: "CVE-1", products: [of(regressed, "1.0-r0")], status: "fixed" },
        { name: "CVE-1", products: [of(regressed, "2.0-r0")], status: "affected" },
        { name: "CVE-2", products: [of(half, "1.0-r0", "pkg:apk/wolfi/a")], status: "fixed" },
        { name: "CVE-2", products: [of(half, "1.0-r0", "pkg:apk/wolfi/b")], status: "affected" },
        { name: "CVE-3", products: [of(later, "1.0-r0")], status: "fixed" },
      ),
      "b.json": vex({
        name: "CVE-3",
        products: [of(later, "1.0-r0")],
        status: "affected",
        timestamp: "2026-03-02T00:00:00Z",
      }),
    });
    const repo = await makeRepo(platform(), group, { name: freshName("image") });
    const resolved = async (...packages: (readonly [string, string])[]) => {
      const tag = freshName("tag");
      const digest = digestOf(Math.floor(Math.random() * 1e9));
      await makeTag(platform(), repo.uid, { name: tag, digest });
      await importPackages(
        platform(),
        repo.uid,
        digest,
        ...packages.map(([name, version]) => ({ name, version, namespace: "wolfi" })),
      );
      const range = { startTime: "2026-03-01T00:00:00Z", endTime: "2026-03-03T00:00:00Z" };
      const images = [`${repo.uid}:${tag}`];
      const { resolvedVulnsReports } = await platform().read("ListResolvedVulnsReports", { ...range, images });
      return resolvedVulnsReports.flatMap((day: Json) => day.resolvedVulns.map(({ id }: Json) => id));
    };
    expect(await resolved([regressed, "1.0-r0"])).toEqual(["CVE-1"]);
    expect(await resolved([regressed, "1.5-r0"])).toEqual(["CVE-1"]);
    expect(await resolved([regressed, "2.0-r0"])).toEqual([]);
    expect(await resolved([regressed, "2.1-r0"])).toEqual([]);
    expect(await resolved([half, "1.0-r0"], [later, "1.0-r0"])).toEqual([]);
    const all = [of(half, "1.0-r0", "pkg:apk/wolfi/a"), of(half, "1.0-r0", "pkg:apk/wolfi/b")];
    await importVex({ "a.json": vex({ name: "CVE-2", products: all, status: "fixed" }) }, group);
    expect(await resolved([half, "1.0-r0"], [regressed, "1.0-r0"])).toEqual(["CVE-2"]);
  });

  test("has fields that calls of v1 cannot write", async () => {
    const name = freshName("app");
    const product = `pkg:apk/wolfi/${name}@1.0-r0`;
    const group = await importVex({ "a.json": vex({ name: "CVE-1", products: [product], status: "affected" }) });
    const { advisory } = await methodFixtures["v1.Advisories.Create"]!.request(platform(), group);
    const claimed = { artifactVersion: "9", packageUrl: "pkg:apk/a@9", subcomponent: "pkg:apk/b" };
    const own = { ...advisory, artifactName: name, advisoryId: "CVE-1", events: [] };
    await platform().ok("v1.Advisories.Create", { parentId: group, advisory: { ...own, ...claimed } });
    const [ofVersion, ofAll] = (await list(group)).sort((a) => (a.packageUrl === product ? -1 : 1));
    for (const field of Object.keys(claimed)) expect(ofAll).not.toHaveProperty(field);
    expect(ofVersion).toMatchObject({ packageUrl: product, artifactVersion: "1.0-r0" });

    const fixed = { author: "you@example.com", status: "APPROVED", fixed: { fixedVersion: "1.0-r1" } };
    await platform().ok("v1.Advisories.CreateAdvisoryEvent", { parentId: ofVersion!.uid, advisoryEvent: fixed });
    await platform().ok("v1.Advisories.Update", { ...own, ...claimed, id: ofVersion!.uid, aliases: ["CVE-2"] });
    const after = (await list(group)).find(({ uid }) => uid === ofVersion!.uid);
    expect(after).toMatchObject({ packageUrl: product, artifactVersion: "1.0-r0", aliases: ["CVE-2"] });
    expect(await list(group)).toHaveLength(2);
  });

  test("of a later import replace those of its file, and those of files that are gone are pruned", async () => {
    const name = freshName("tool");
    const product = `pkg:npm/${name}@1.0.0`;
    const affected = (cve: string) => vex({ name: cve, products: [product], status: "affected" });
    const group = await importVex({ "a.json": affected("CVE-1"), "b.json": affected("CVE-2") });
    const [kept] = await list(group);
    await importVex({ "a.json": affected("CVE-1"), "c.json": affected("CVE-3") }, group);
    const after = await list(group);
    expect(after.map(({ advisoryId }) => advisoryId)).toEqual(["CVE-1", "CVE-3"]);
    expect(after[0]).toEqual(kept);
    expect((await documentOf(name)).advisories.map(({ id }: Json) => id).sort()).toEqual(["CVE-1", "CVE-3"]);
  });
});
