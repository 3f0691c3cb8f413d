/** The client has every method of version 2 of the contract, with its types. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRouterTransport } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";
import * as contract from "../../gen/client.ts";
import { createClientsOf } from "../../src/client/package.ts";
import { contractServices } from "../../src/remote/catalog/descriptors.ts";
import { kebab, readCatalog } from "../../src/remote/catalog/resources.ts";
import { repository } from "../cli/platform-process.ts";

const services = contractServices().filter(({ file }) => file.proto.package.endsWith(".v2"));
const clients: Record<string, Record<string, unknown>> = createClientsOf(
  contract,
  createRouterTransport(() => {}),
);

/** `roles` for RolesService. */
const clientName = (service: string) => service[0]!.toLowerCase() + service.slice(1).replace(/Service$/, "");

test("it has a method for each of the contract", () => {
  expect(services.length).toBeGreaterThan(15);
  expect(Object.keys(clients).sort()).toEqual(services.map(({ name }) => clientName(name)).sort());
  for (const { name, methods } of services)
    expect(Object.keys(clients[clientName(name)]!), name).toHaveLength(methods.length);
});

test("standard methods have the names of their verbs, others those of the command line", () => {
  const catalog = readCatalog(services);
  for (const { name, service, customMethods } of catalog.services) {
    const resource = catalog.resources.find(({ plural }) => plural === name);
    const verbs = Object.keys(resource?.methods ?? {}).filter((verb) => !verb.startsWith("Batch"));
    const names = Object.keys(clients[clientName(service.name)]!).map(kebab);
    expect(names, name).toEqual(expect.arrayContaining([...customMethods.keys(), ...verbs.map(kebab)]));
  }
});

test("its types have the methods that it has", () => {
  const folder = mkdtempSync(join(tmpdir(), "platform-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const checks = services.flatMap(({ name, methods }) => {
    const client = clientName(name);
    const names = Object.keys(clients[client]!);
    return [
      `const ${client}: Same<keyof PlatformClient["${client}"], ${names.map((it) => `"${it}"`).join(" | ")}> = true;`,
      ...methods.map(({ localName }, index) => {
        const method = `PlatformClient["${client}"]["${names[index]}"]`;
        const described = `Method<(typeof contract.${name})["method"]["${localName}"]>`;
        return `const ${client}${index}: Same<${method}, ${described}> = true;`;
      }),
    ];
  });
  writeFileSync(
    join(folder, "types.ts"),
    `import type { Method, PlatformClient } from "${repository}/src/client/package.ts";
import type * as contract from "${repository}/gen/client.ts";
type Same<A, B> = [A] extends [never] ? never : [A] extends [B] ? ([B] extends [A] ? true : never) : never;
${checks.join("\n")}`,
  );
  const compilerOptions = { types: [], lib: ["es2024", "dom", "dom.asynciterable"] };
  const settings = { extends: join(repository, "tsconfig.json"), compilerOptions, include: ["types.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const compiler = join(repository, "node_modules/.bin/tsc");
  const { stdout } = spawnSync(compiler, ["--project", folder], { encoding: "utf8" });
  expect(stdout).toBe("");
});
