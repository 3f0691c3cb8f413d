/** Translations between messages, by tables. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import * as v1 from "../../gen/platform/registry/v1/repos_pb.ts";
import * as v2 from "../../gen/platform/registry/v2/repos_pb.ts";
import { type Tables, Translator } from "../../src/translation/index.ts";

const syncConfig = { older: v1.SyncConfigSchema, newer: v2.SyncConfigSchema, onlyOlder: { sync_apks: "not copied" } };
const repo = {
  older: v1.RepoSchema,
  newer: v2.RepoSchema,
  onlyOlder: { readme: "elsewhere" },
  refused: { custom_overlay: "nothing is built" },
};
const complete: Tables = {
  messages: [repo, syncConfig],
  enums: [],
  fields: { id: "uid", expiration: "expiration_time" },
  onlyNewer: { update_time: "new", etag: "new" },
};
const faultOf = (tables: Partial<Tables>) => () => new Translator({ ...complete, ...tables });

describe("a table that forgets is refused", () => {
  test.each<[string, Partial<Tables>, string]>([
    [
      "a field of the older message",
      { messages: [{ ...repo, onlyOlder: {} }, syncConfig] },
      "v1.Repo.readme has no counterpart readme in platform.registry.v2.Repo",
    ],
    [
      "a field of the newer message",
      { onlyNewer: { etag: "new" } },
      "v2.Repo.update_time has no counterpart in platform.registry.v1.Repo",
    ],
    ["a name that differs", { fields: {} }, "v1.Repo.id has no counterpart id in platform.registry.v2.Repo"],
    [
      "a field of a message within",
      { messages: [repo] },
      "v1.SyncConfig.sync_apks has no counterpart sync_apks in platform.registry.v2.SyncConfig",
    ],
    [
      "the type",
      { messages: [{ ...repo, fields: { description: "bundles" } }, syncConfig] },
      "v1.Repo.description has another type than platform.registry.v2.Repo.bundles",
    ],
    [
      "a value of an enum",
      { enums: [{ older: v1.CatalogTierSchema, newer: v2.CatalogTierSchema, values: { FIPS: "NOPE" } }] },
      "v1.CatalogTier.FIPS has no counterpart in platform.registry.v2.CatalogTier",
    ],
    [
      "that a field is gone",
      { messages: [{ ...repo, onlyOlder: { ...repo.onlyOlder, nope: "x" } }, syncConfig] },
      "v1.Repo has no field nope",
    ],
    [
      "that a newer field is gone",
      { messages: [{ ...repo, onlyNewer: { nope: "x" } }, syncConfig] },
      "v2.Repo has no field nope",
    ],
  ])("%s", (_, tables, fault) => {
    expect(faultOf(tables)).toThrow(fault);
  });

  test("all at once", () => {
    const forgetful = faultOf({ messages: [{ ...repo, onlyOlder: {} }], fields: {} });
    for (const fault of ["v1.Repo.id has", "v1.Repo.readme has", "v1.SyncConfig.sync_apks has"])
      expect(forgetful).toThrow(fault);
  });
});

describe("messages", () => {
  const translation = new Translator(complete).between(v1.RepoSchema, v2.RepoSchema);
  const older = create(v1.RepoSchema, {
    id: "a",
    name: "n",
    catalogTier: v1.CatalogTier.FIPS,
    bundles: ["b"],
    syncConfig: { source: "s", syncApks: true, expiration: { seconds: 7n, nanos: 0 } },
  });

  test("are translated both ways, by name and by the names of enum values", () => {
    const newer = translation.toNewer(older) as v2.Repo;
    expect(newer).toMatchObject({ uid: "a", name: "n", catalogTier: v2.CatalogTier.FIPS, bundles: ["b"] });
    expect(newer.syncConfig).toMatchObject({ source: "s", expirationTime: { seconds: 7n } });
    const back = translation.toOlder(newer) as v1.Repo;
    expect(back).toEqual(create(v1.RepoSchema, { ...older, syncConfig: { ...older.syncConfig!, syncApks: false } }));
    expect(v1.CatalogTier.FIPS).not.toBe(v2.CatalogTier.FIPS);
  });

  test("do not share lists or messages with their counterpart that either could change", () => {
    const newer = translation.toNewer(older) as v2.Repo;
    newer.syncConfig!.source = "changed";
    expect(older.syncConfig!.source).toBe("s");
  });

  test("with a refused field are refused by its name", () => {
    const request = create(v1.RepoSchema, { customOverlay: {} });
    expect(() => translation.toNewer(request)).toThrow("custom_overlay: nothing is built");
  });

  test("have paths of the older names", () => {
    expect(translation.olderPath("uid")).toBe("id");
    expect(translation.olderPath("bundles[3]")).toBe("bundles[3]");
    expect(translation.olderPath("sync_config.expiration_time")).toBe("sync_config.expiration");
    expect(translation.olderPath("etag")).toBeUndefined();
    expect(translation.olderPath("bundle")).toBeUndefined();
  });
});

describe("a name with a dot", () => {
  const translation = new Translator({
    ...complete,
    messages: [
      {
        older: v1.SyncConfigSchema,
        newer: v2.RepoSchema,
        fields: { source: "sync_config.source", expiration: "sync_config.expiration_time" },
        onlyOlder: Object.fromEntries(
          v1.SyncConfigSchema.fields.flatMap(({ name }) =>
            ["source", "expiration"].includes(name) ? [] : [[name, "x"]],
          ),
        ),
        onlyNewer: Object.fromEntries(
          v2.RepoSchema.fields.flatMap(({ name }) => (name === "sync_config" ? [] : [[name, "x"]])),
        ),
      },
    ],
  }).between(v1.SyncConfigSchema, v2.RepoSchema);

  test("is a field of a field, read and written", () => {
    const older = create(v1.SyncConfigSchema, { source: "s", expiration: { seconds: 7n, nanos: 0 } });
    const newer = translation.toNewer(older) as v2.Repo;
    expect(newer.syncConfig).toMatchObject({ source: "s", expirationTime: { seconds: 7n } });
    expect(translation.toOlder(newer)).toEqual(older);
    expect(translation.toOlder(create(v2.RepoSchema))).toEqual(create(v1.SyncConfigSchema));
    expect(translation.olderPath("sync_config.source")).toBe("source");
  });
});
