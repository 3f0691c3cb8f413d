/** Artifacts and their versions, as importers stored them. */
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
import { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { Ecosystem } from "../../gen/platform/libraries/v2/artifacts_pb.ts";
import type { Pruned } from "../../src/resource/index.ts";
import { pruneArtifacts } from "../../src/services/index.ts";
import { artifactVersions } from "../../src/services/libraries/artifacts.ts";
import type { Json } from "./contract.ts";
import { importArtifacts } from "./feed-fixtures.ts";
import { freshName, freshUid, makeGroup, makeMember } from "./fixtures.ts";
import { fieldsOf, violationsOf } from "./outcome.ts";
import { onEveryServer } from "./platform.ts";

const java = "ECOSYSTEM_JAVA";
const python = "ECOSYSTEM_PYTHON";
const javascript = "ECOSYSTEM_JAVASCRIPT";
const all = [java, python, javascript];

const versionsNamed = (...versions: string[]) => versions.map((version) => ({ version }));

onEveryServer("artifacts", (platform) => {
  const namesOf = ({ artifacts }: Json) => artifacts.map(({ name }: Json) => name);
  const numbersOf = ({ artifactVersions }: Json) => artifactVersions.map(({ version }: Json) => version);

  beforeAll(async () => {
    await importArtifacts(
      platform(),
      {
        ecosystem: Ecosystem.JAVA,
        name: "org.example:widgets",
        description: "Widgets for Windows",
        versions: versionsNamed("1.0", "1.10", "1.2", "1.2-SNAPSHOT", "2.0-rc1", "1.10-sp1", "1.2-foo"),
      },
      {
        ecosystem: Ecosystem.PYTHON,
        name: "Widgets_Kit.py",
        description: "50% of what\nwidgets need",
        versions: [
          {
            version: "1.0",
            createTimeMs: Date.parse("2020-01-02T03:04:05.678Z"),
            sizeBytes: 5_000_000_000,
            description: "",
          },
          { version: "1.0.post1", createTimeMs: Date.parse("2021-01-02T03:04:05.000Z"), sizeBytes: 12 },
          { version: "1.1", yanked: true, description: "Broken" },
          { version: "2.0a1" },
        ],
      },
      { ecosystem: Ecosystem.JAVASCRIPT, name: "@example/gears", description: "", versions: versionsNamed("1.0.0-0") },
      { ecosystem: Ecosystem.PYTHON, name: "gears", description: "Gears", versions: [] },
      { ecosystem: Ecosystem.JAVASCRIPT, name: "gears", description: "Gears", versions: versionsNamed("0.1.0") },
    );
  });

  test("look as their ecosystem tells", async () => {
    const artifact = await platform().read("GetArtifact", { uid: "python:widgets-kit-py" });
    expect(artifact).toEqual({
      uid: expect.stringMatching(/^[0-9a-f]{40}$/),
      name: "widgets-kit-py",
      description: "50% of what\nwidgets need",
      ecosystem: python,
      latestVersion: "1.0.post1",
      versionCount: 4,
      createTime: "2020-01-02T03:04:05.678Z",
      updateTime: expect.stringMatching(/^2.*\.\d{3}Z$/),
      etag: expect.any(String),
    });
    const { artifactVersions, ...page } = await platform().read("ListArtifactVersions", { artifactId: artifact.uid });
    expect(page).toEqual({ totalCount: "4", skipped: 0 });
    expect(numbersOf({ artifactVersions })).toEqual(["2.0a1", "1.1", "1.0.post1", "1.0"]);
    expect(artifactVersions[1]).toMatchObject({ yanked: true, description: "Broken" });
    expect(artifactVersions[3]).toEqual({
      uid: expect.stringMatching(`^${artifact.uid}/[0-9a-f]{16}$`),
      name: "widgets-kit-py",
      version: "1.0",
      description: "",
      createTime: "2020-01-02T03:04:05.678Z",
      updateTime: artifact.updateTime,
      sizeBytes: "5000000000",
      ecosystem: python,
      yanked: false,
      etag: expect.any(String),
    });
  });

  describe("ids", () => {
    test.each([
      ["java:org.example:widgets", "org.example:widgets"],
      ["org.example:widgets", "org.example:widgets"],
      ["javascript:@example/gears", "@example/gears"],
      ["@example/gears", "@example/gears"],
      ["python:Widgets.Kit_PY", "widgets-kit-py"],
      ["WIDGETS--kit.py", "widgets-kit-py"],
      ["python:gears", "gears"],
      ["javascript:gears", "gears"],
    ])("%s", async (id, name) => {
      const artifact = await platform().read("GetArtifact", { uid: id });
      expect(artifact.name).toBe(name);
      expect(await platform().read("GetArtifact", { uid: artifact.uid })).toEqual(artifact);
      const byId = await platform().read("ListArtifactVersions", { artifactId: id });
      expect(await platform().read("ListArtifactVersions", { artifactId: artifact.uid })).toEqual(byId);
    });

    test("of one segment in a path, percent-encoded", async () => {
      for (const [id, name] of [
        ["javascript%3A%40example%2Fgears", "@example/gears"],
        ["java:org.example:widgets", "org.example:widgets"],
      ]) {
        const answer = await platform().fetch(`/libraries/v2/artifacts/${id}`);
        expect(await answer.json()).toMatchObject({ name });
      }
    });

    test("of several ecosystems are refused", async () => {
      for (const [method, field] of [
        ["GetArtifact", "uid"],
        ["ListArtifactVersions", "artifact_id"],
      ] as const) {
        const request = { [field === "uid" ? "uid" : "artifactId"]: "gears" };
        const status = await platform().refused(method, request, "INVALID_ARGUMENT");
        expect(violationsOf(status)).toEqual([
          expect.objectContaining({ field, description: "is ambiguous: python:gears, javascript:gears" }),
        ]);
      }
    });

    test.each(["nowhere", "java:gears", "python:", ":", "a".repeat(40), "java:org.example", `${freshUid()}/0`])(
      "%s is nobody's",
      async (id) => {
        const { details } = await platform().refused("GetArtifact", { uid: id }, "NOT_FOUND");
        expect(details[1]).toMatchObject({ resourceType: "libraries.platform.internal/Artifact", resourceName: id });
        await platform().refused("ListArtifactVersions", { artifactId: id }, "NOT_FOUND");
      },
    );

    test("must not be empty", async () => {
      for (const [method, field] of [
        ["GetArtifact", "uid"],
        ["ListArtifactVersions", "artifact_id"],
      ] as const) {
        const outcome = await platform().call(method, {}, { over: "grpc" });
        if (outcome.ok) throw new Error(`${method} has an answer without an id`);
        expect(fieldsOf(outcome.status)).toEqual([field]);
      }
    });
  });

  describe("lists", () => {
    test.each<[string, Json, string[]]>([
      [
        "of every ecosystem, by name",
        { ecosystems: all },
        ["@example/gears", "gears", "gears", "org.example:widgets", "widgets-kit-py"],
      ],
      ["of one", { ecosystems: [python] }, ["gears", "widgets-kit-py"]],
      ["of one, twice", { ecosystems: [python, python] }, ["gears", "widgets-kit-py"]],
      [
        "backwards",
        { ecosystems: [java, python], orderBy: "name desc" },
        ["widgets-kit-py", "org.example:widgets", "gears"],
      ],
      ["by a part of the name", { ecosystems: all, query: "EXAMPLE" }, ["@example/gears", "org.example:widgets"]],
      ["by a part of the description", { ecosystems: all, query: "widgets FOR" }, ["org.example:widgets"]],
      ["by a part of either", { ecosystems: all, query: "widgets" }, ["org.example:widgets", "widgets-kit-py"]],
      ["by two letters", { ecosystems: [java, python], query: "wi" }, ["org.example:widgets", "widgets-kit-py"]],
      ["by a sign", { ecosystems: all, query: "%" }, ["widgets-kit-py"]],
      ["by signs that are nowhere", { ecosystems: all, query: "_i_" }, []],
      ["by a line break", { ecosystems: all, query: "what\nwidgets" }, []],
      ["by what spans name and description", { ecosystems: all, query: "widgets\nwidgets" }, []],
    ])("%s", async (_, request, expected) => {
      const page = await platform().read("ListArtifacts", request);
      expect([namesOf(page), page.totalCount]).toEqual([expected, String(expected.length)]);
    });

    test.each(["name", "uid", "create_time", "updateTime"])("by %s go on from page to page", async (orderBy) => {
      const request = { ecosystems: all, orderBy: `${orderBy} desc` };
      const whole = await platform().read("ListArtifacts", request);
      const walked: Json[] = [];
      for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
        const page: Json = await platform().read("ListArtifacts", { ...request, pageSize: 2, pageToken });
        expect(page.totalCount).toBe("5");
        walked.push(...page.artifacts);
        pageToken = page.nextPageToken;
      }
      expect(walked).toEqual(whole.artifacts);
    });

    test("need an ecosystem, of those that there are", async () => {
      for (const ecosystems of [[], ["ECOSYSTEM_UNSPECIFIED"]]) {
        await platform().refused("ListArtifacts", { ecosystems }, "INVALID_ARGUMENT");
        await platform().refused("GetArtifactCount", { ecosystems }, "INVALID_ARGUMENT");
      }
    });
  });

  describe("versions", () => {
    const artifactId = "java:org.example:widgets";
    const rising = ["1.0", "1.2-SNAPSHOT", "1.2", "1.2-foo", "1.10", "1.10-sp1", "2.0-rc1"];

    test.each([
      ["", rising.toReversed()],
      ["version", rising],
      ["version desc", rising.toReversed()],
      ["name, version asc", rising],
    ])("ordered by %j", async (orderBy, expected) => {
      const page = await platform().read("ListArtifactVersions", { artifactId, orderBy });
      expect([numbersOf(page), page.totalCount]).toEqual([expected, "7"]);
    });

    test("page by page, however the artifact is named", async () => {
      const first = await platform().read("ListArtifactVersions", { artifactId, pageSize: 3, skip: 1 });
      expect(numbersOf(first)).toEqual(["1.10-sp1", "1.10", "1.2-foo"]);
      const { uid } = await platform().read("GetArtifact", { uid: artifactId });
      const second = await platform().read("ListArtifactVersions", { artifactId: uid, pageToken: first.nextPageToken });
      expect(numbersOf(second)).toEqual(["1.2", "1.2-SNAPSHOT", "1.0"]);
      const other = { artifactId: "javascript:gears", pageToken: first.nextPageToken };
      expect(fieldsOf(await platform().refused("ListArtifactVersions", other, "INVALID_ARGUMENT"))).toEqual([
        "page_token",
      ]);
    });

    test("that are unstable are the latest only of those that have no other", async () => {
      const { latestVersion } = await platform().read("GetArtifact", { uid: artifactId });
      expect(latestVersion).toBe("1.10-sp1");
      expect(await platform().read("GetArtifact", { uid: "@example/gears" })).toMatchObject({
        latestVersion: "1.0.0-0",
      });
      expect(await platform().read("GetArtifact", { uid: "python:gears" })).toMatchObject({ latestVersion: "" });
    });
  });

  describe("a feed imported again", () => {
    const record = (name: string, ...versions: string[]) => ({
      ecosystem: Ecosystem.JAVASCRIPT,
      name,
      description: "first",
      versions: versionsNamed(...versions),
    });
    const read = async (name: string) => ({
      artifact: await platform().read("GetArtifact", { uid: `javascript:${name}` }),
      versions: await platform().read("ListArtifactVersions", { artifactId: `javascript:${name}` }),
    });

    test("changes nothing", async () => {
      const name = freshName();
      await importArtifacts(platform(), record(name, "1.0.0", "1.1.0"));
      const before = await read(name);
      await importArtifacts(platform(), record(name, "1.1.0", "1.0.0"));
      expect(await read(name)).toEqual(before);
    });

    test("adds, changes and removes what differs", async () => {
      const name = freshName();
      await importArtifacts(platform(), record(name, "1.0.0", "1.1.0"));
      const before = await read(name);
      const versions = [{ version: "1.0.0" }, { version: "2.0.0-rc.1", sizeBytes: 7 }];
      await importArtifacts(platform(), { ...record(name), description: "second", versions });
      const after = await read(name);
      expect(after.artifact).toMatchObject({
        uid: before.artifact.uid,
        description: "second",
        latestVersion: "1.0.0",
        versionCount: 2,
        createTime: before.artifact.createTime,
      });
      expect(after.artifact.etag).not.toBe(before.artifact.etag);
      expect(numbersOf(after.versions)).toEqual(["2.0.0-rc.1", "1.0.0"]);
      expect(after.versions.artifactVersions[1]).toEqual(before.versions.artifactVersions[1]);
    });

    test("tells of single versions without taking back others", async () => {
      const name = freshName();
      const one = (version: string, description: string) => ({ ...record(name, version), description, isWhole: false });
      await importArtifacts(platform(), record(name, "1.0.0"), one("2.0.0", "newest"), one("0.9.0", "oldest"));
      const { artifact, versions } = await read(name);
      expect(artifact).toMatchObject({ description: "newest", versionCount: 3, latestVersion: "2.0.0" });
      expect(numbersOf(versions)).toEqual(["2.0.0", "1.0.0", "0.9.0"]);
    });
  });

  test("of which a version has changed are stored again", async () => {
    const name = freshName();
    const record = { ecosystem: Ecosystem.JAVASCRIPT, name };
    const versionNow = async () => {
      const { artifactVersions: versions } = await platform().read("ListArtifactVersions", {
        artifactId: `javascript:${name}`,
      });
      return versions[0];
    };
    await importArtifacts(platform(), { ...record, versions: [{ version: "1.0.0" }] });
    for (const description of ["first", "second"]) {
      await importArtifacts(platform(), { ...record, versions: [{ version: "1.0.0", description }] });
      expect(await versionNow()).toMatchObject({ version: "1.0.0", description });
    }
  });

  test("that a feed no longer has are removed with their versions, one at a time", async () => {
    const [kept, gone] = [freshName(), freshName()];
    for (const name of [kept, gone])
      await importArtifacts(platform(), { ecosystem: Ecosystem.JAVASCRIPT, name, versions: versionsNamed("1.0.0") });
    const { uid } = await platform().read("GetArtifact", { uid: `javascript:${gone}` });
    let removed = 0;
    for (let after: string | undefined = ""; after !== undefined; ) {
      const pruned: Pruned = await platform().write((session) =>
        pruneArtifacts(session, Ecosystem.JAVASCRIPT, (each) => each !== uid, after),
      );
      removed += pruned.removed;
      after = pruned.next;
    }
    expect(removed).toBe(1);
    await platform().refused("GetArtifact", { uid }, "NOT_FOUND");
    await platform().read("GetArtifact", { uid: `javascript:${kept}` });
    const versions = await platform().write(async (session) => session.count(artifactVersions.table, { parent: uid }));
    expect(versions).toBe(0);
  });

  test("with a value that breaks a rule are refused before anything is stored", async () => {
    for (const record of [
      { name: "white space", versions: [] },
      { name: "", versions: [] },
      { name: freshName(), versions: versionsNamed("") },
      { name: freshName(), versions: versionsNamed("1\u0007") },
      { name: freshName(), versions: versionsNamed("1".repeat(256)) },
      { name: freshName(), description: "x".repeat(4097), versions: versionsNamed("1.0.0") },
    ]) {
      const writing = importArtifacts(platform(), { ecosystem: Ecosystem.JAVASCRIPT, ...record });
      await expect(writing).rejects.toMatchObject({ code: Code.InvalidArgument });
      if (record.name !== "") await platform().refused("GetArtifact", { uid: record.name }, "NOT_FOUND");
    }
  });

  test("are counted in each ecosystem that is asked for, in that order, once", async () => {
    const { counts } = await platform().read("GetArtifactCount", { ecosystems: [python, java, python] });
    expect(counts).toEqual([
      { ecosystem: python, totalCount: "2" },
      { ecosystem: java, totalCount: "1" },
    ]);
  });

  test("are for whoever may list them anywhere, and for nobody else", async () => {
    const { uid: group } = await makeGroup(platform());
    const reader = (await makeMember(platform(), group, [Capability.CAP_LIBRARIES_ARTIFACTS_LIST])).token;
    const stranger = (await makeMember(platform(), group, [Capability.CAP_REPO_LIST])).token;
    const ask = async (as: string) => ({
      listed: await platform().read("ListArtifacts", { ecosystems: [java] }, { as }),
      versions: await platform().read("ListArtifactVersions", { artifactId: "org.example:widgets" }, { as }),
      counted: await platform().read("GetArtifactCount", { ecosystems: [java] }, { as }),
    });
    expect(await ask(reader)).toEqual(await ask(platform().admin));
    expect(await ask(stranger)).toEqual({
      listed: { artifacts: [], totalCount: "0", skipped: 0 },
      versions: { artifactVersions: [], totalCount: "0", skipped: 0 },
      counted: { counts: [{ ecosystem: java, totalCount: "0" }] },
    });
    const about = async (uid: string) =>
      JSON.stringify(await platform().refused("GetArtifact", { uid }, "NOT_FOUND", { as: stranger })).replaceAll(
        uid,
        "",
      );
    expect(await about("org.example:widgets")).toBe(await about("org.example:missing"));
  });
});
