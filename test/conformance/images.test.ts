import { expect, it } from "vitest";
import { importImages, importPackages } from "./feed-fixtures.ts";
import { digestOf, freshUid, makeGroup, makeRepo, makeTag } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const [index, amd64, arm64, armv6, armv7, windows] = [1, 2, 3, 4, 5, 6].map(digestOf) as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const platforms = [
  { architecture: "amd64", os: "windows", digest: windows, size: 9_000 },
  { architecture: "amd64", digest: amd64, size: 1_000 },
  { architecture: "arm64", variant: "v8", digest: arm64, size: 2_000 },
  { architecture: "arm", variant: "v6", digest: armv6, size: 3_000 },
  { architecture: "arm", variant: "v7", digest: armv7, size: 2 ** 40 },
];

onEveryServer("images", (platform) => {
  async function makeIndex(): Promise<string> {
    const { uid } = await makeRepo(platform(), (await makeGroup(platform())).uid);
    const parts = platforms.map((part) => ({ digest: part.digest, platforms: [part] }));
    await importImages(platform(), uid, { digest: index, platforms }, ...parts);
    return uid;
  }

  it("names each architecture once, with its variant", async () => {
    const repoUid = await makeIndex();
    const answer = await platform().read("GetArchitectures", { repoUid, digest: index });
    expect(answer).toEqual({ architectures: ["amd64", "arm64", "arm/v6", "arm/v7"] });
    expect(await platform().read("GetArchitectures", { repoUid, digest: armv6 })).toEqual({
      architectures: ["arm/v6"],
    });
  });

  it("gives sizes by architecture, amd64 unless told, Linux before others", async () => {
    const repoUid = await makeIndex();
    const sizes: [architecture: string, name: string, size: number][] = [
      ["", "amd64", 1_000],
      ["amd64", "amd64", 1_000],
      ["amd64/v1", "amd64", 1_000],
      ["arm64", "arm64", 2_000],
      ["arm64/v8", "arm64", 2_000],
      ["arm/v6", "arm/v6", 3_000],
      ["arm/v7", "arm/v7", 2 ** 40],
      ["arm", "arm/v7", 2 ** 40],
    ];
    for (const [architecture, name, size] of sizes) {
      const answer = await platform().read("GetSize", { repoUid, digest: index, architecture });
      expect(answer, architecture).toEqual({ size: String(size), architecture: name });
    }
    const own = await platform().read("GetSize", { repoUid, digest: armv6, architecture: "arm" });
    expect(own).toEqual({ size: "3000", architecture: "arm/v6" });
  });

  it("takes arm for arm/v7 where its variant is not written, and the other way round", async () => {
    const { uid: repoUid } = await makeRepo(platform(), (await makeGroup(platform())).uid);
    const bare = { architecture: "arm", digest: armv7, size: 7_000 };
    await importImages(platform(), repoUid, { digest: index, platforms: [platforms[3]!, bare] });
    const answer = await platform().read("GetArchitectures", { repoUid, digest: index });
    expect(answer).toEqual({ architectures: ["arm/v6", "arm"] });
    for (const architecture of ["arm", "arm/v7"])
      expect(await platform().read("GetSize", { repoUid, digest: index, architecture })).toEqual({
        size: "7000",
        architecture: "arm",
      });
    await platform().refused("GetSize", { repoUid, digest: index, architecture: "arm/v8" }, "NOT_FOUND");
  });

  it("does not find what is not there", async () => {
    const repoUid = await makeIndex();
    for (const architecture of ["s390x", "arm64/v9", "arm/v5", "__proto__", "amd64 "]) {
      const { details } = await platform().refused("GetSize", { repoUid, digest: index, architecture }, "NOT_FOUND");
      expect(details[1]).toMatchObject({ resourceType: "registry.platform.internal/Image", resourceName: index });
    }
    await platform().refused("GetSize", { repoUid, digest: armv6 }, "NOT_FOUND"); // amd64
    const unknown = { repoUid, digest: digestOf(99) };
    await platform().refused("GetSize", unknown, "NOT_FOUND");
    await platform().refused("GetArchitectures", unknown, "NOT_FOUND");
    const nowhere = { repoUid: freshUid(platform().root), digest: index };
    const { details } = await platform().refused("GetSize", nowhere, "NOT_FOUND");
    expect(details[1]).toMatchObject({
      resourceType: "registry.platform.internal/Repo",
      resourceName: nowhere.repoUid,
    });
    await platform().refused("GetSize", { repoUid, digest: "latest" }, "INVALID_ARGUMENT");
  });

  it("does not take one digest for another that begins alike", async () => {
    const repoUid = await makeIndex();
    const digest = `${index.slice(0, 60)}${"0".repeat(11)}`;
    await platform().refused("GetArchitectures", { repoUid, digest }, "NOT_FOUND");
  });

  it("lets images go with their repo, and answers REST paths as they are written", async () => {
    const repoUid = await makeIndex();
    await importPackages(platform(), repoUid, index, { name: "openssl", version: "3.0" });
    await makeTag(platform(), repoUid, { digest: index });
    const path = `/registry/v2/repos/${repoUid}/digests/${index}`;
    expect(await (await platform().fetch(`${path}/size?architecture=arm64`)).json()).toEqual({
      size: "2000",
      architecture: "arm64",
    });
    expect((await platform().fetch(`${path}/architectures`)).status).toBe(200);
    await platform().ok("DeleteRepo", { uid: repoUid, force: true });
    const left = await platform().write(async (session) => {
      const tables = ["images", "image_packages"].map((name) => ({ name, columns: {} }));
      return Promise.all(tables.map((table) => session.exists(table, { parent: repoUid })));
    });
    expect(left).toEqual([false, false]);
  });
});
