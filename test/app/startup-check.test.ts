/** What was forgotten is named when the server starts. */
import { describe, expect, test } from "vitest";
import { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "../../gen/platform/iam/v2/groups_pb.ts";
import { PingService } from "../../gen/platform/ping/v2/ping_pb.ts";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { generatedServices } from "../../src/app/generated-services.ts";
import { checkStartup, type StartupFacts } from "../../src/app/startup-check.ts";
import { readContract } from "../../src/contract/index.ts";
import { administratorOnly, administratorRole, builtInRoles, notServed } from "../../src/services/index.ts";
import { columnsOf } from "../../src/store/index.ts";
import { generatedServices as contractServices } from "../contract/generated.ts";
import { databaseOfFile, services } from "../services/served.ts";

const database = await databaseOfFile();

/** The product as it is, with tables that have whatever its resources declare. */
const complete: StartupFacts = {
  services,
  contract: readContract(services.map(({ service }) => service)),
  generated: contractServices.map(({ typeName }) => typeName),
  notServed,
  roles: [...builtInRoles.values()].filter(({ name }) => name !== administratorRole),
  administratorOnly,
  columns: new Map(
    services.flatMap(({ resources }) => resources.map(({ table }) => [table.name, new Set(columnsOf(table))])),
  ),
  indexes: database.indexes(),
};
const faultOf = (facts: Partial<StartupFacts>) => () => checkStartup({ ...complete, ...facts });

test("nothing of the product was forgotten", async () => {
  expect(faultOf({})).not.toThrow();
  expect(faultOf({ columns: await database.columns() })).not.toThrow();
});

test("the server finds every generated service", async () => {
  expect(new Set(await generatedServices())).toEqual(new Set(complete.generated));
  expect(contractServices.length).toBeGreaterThan(15);
});

describe("a resource", () => {
  test("without its table", () => {
    const columns = new Map([...complete.columns].filter(([name]) => name !== "repos"));
    expect(faultOf({ columns })).toThrow(
      "the server is incomplete:\n  the database has no table repos for Repo: add a migration to src/store/migrations, and run `npm run generate`",
    );
  });

  test.each(["name", "packed", "uid"])("without its column %s", (missing) => {
    const left = columnsOf({ name: "repos", columns: { name: "text" } }).filter((column) => column !== missing);
    expect(faultOf({ columns: new Map([...complete.columns, ["repos", new Set(left)]]) })).toThrow(
      `the table repos has no column ${missing} for Repo: add a migration to src/store/migrations, and run \`npm run generate\``,
    );
  });
});

describe("an index", () => {
  const without = (table: string, ...columns: string[]) =>
    complete.indexes.filter((index) => index.table !== table || index.columns.join() !== columns.join());

  test.each([
    ["repos", ["parent", "name"], "unique index of parent, name, which Repo declares as unique"],
    ["roles", ["create_time_us", "uid"], "index of create_time_us, uid, by which Role is sorted"],
    [
      "artifact_versions",
      ["parent", "version_order", "uid"],
      "index of version_order, uid, by which ArtifactVersion is sorted",
    ],
    ["advisories", ["artifact_name", "uid"], "index of artifact_name, uid, by which Advisory is sorted"],
  ])("of %s by %s", (table, columns, fault) => {
    expect(faultOf({ indexes: without(table, ...columns) })).toThrow(
      `the server is incomplete:\n  the table ${table} has no ${fault}: add a migration to src/store/migrations, and run \`npm run generate\``,
    );
  });

  test("that is not unique", () => {
    const indexes = complete.indexes.map((index) => ({ ...index, isUnique: false }));
    expect(faultOf({ indexes })).toThrow("the table repos has no unique index of parent, name");
  });
});

describe("a service of gen/platform", () => {
  const withoutRepos = services.filter(({ service }) => service !== ReposService);

  test("that is not mounted", () => {
    expect(faultOf({ services: withoutRepos })).toThrow(
      "platform.registry.v2.ReposService is neither mounted nor listed as not served in src/services/index.ts",
    );
  });

  test("that is listed as not served", () => {
    const listed = new Map([...notServed, [ReposService.typeName, "for this test"]]);
    expect(faultOf({ services: withoutRepos, notServed: listed })).not.toThrow();
  });
});

describe("a method", () => {
  const roles = complete.roles.map(({ capabilities }) => ({
    capabilities: capabilities.filter((capability) => capability !== Capability.CAP_IAM_GROUPS_UPDATE),
  }));

  test("whose capability no built-in role has", () => {
    expect(faultOf({ roles })).toThrow(
      "platform.iam.v2.GroupsService.UpdateGroup needs CAP_IAM_GROUPS_UPDATE, which no role of src/services/iam/built-in-roles.ts has but the administrator's",
    );
  });

  test("that is left to the administrator", () => {
    const left = new Map(
      [`${GroupsService.typeName}.UpdateGroup`, "platform.iam.v1.Groups.Update"].map((name) => [name, "for this test"]),
    );
    expect(faultOf({ roles, administratorOnly: left })).not.toThrow();
  });
});

test("everything that was forgotten is in one error", () => {
  const mounted = services.filter(({ service }) => service !== ReposService && service !== PingService);
  const columns = new Map([...complete.columns].filter(([name]) => name !== "groups"));
  expect(faultOf({ services: mounted, columns })).toThrow(
    [
      "the server is incomplete:",
      "platform.ping.v2.PingService is neither mounted nor listed as not served in src/services/index.ts",
      "platform.registry.v2.ReposService is neither mounted nor listed as not served in src/services/index.ts",
      "the database has no table groups for Group: add a migration to src/store/migrations, and run `npm run generate`",
    ].join("\n  "),
  );
});
