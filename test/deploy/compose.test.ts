/** deploy/compose: what a container may do, and that both services have what they need. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { expect, test } from "vitest";
import { repository } from "../cli/platform-process.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect, and fail when it is not there.
const project = load(readFileSync(join(repository, "deploy/compose/compose.yaml"), "utf8")) as any;
const { platform, postgres } = project.services;

test("the server has a read-only root and no rights", () => {
  expect(platform).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
  expect(platform.privileged).toBeUndefined();
});

test("each has a health check, and the server waits for PostgreSQL", () => {
  expect(platform.depends_on).toEqual({ postgres: { condition: "service_healthy" } });
  for (const { healthcheck } of [platform, postgres]) expect(healthcheck.test[0]).toBe("CMD");
});

test("secrets are files, volumes and networks are declared, images have a version", () => {
  for (const service of [platform, postgres]) {
    for (const name of service.secrets) expect(project.secrets[name].file).toMatch(/^\.\/secrets\//);
    for (const network of service.networks) expect(Object.keys(project.networks)).toContain(network);
    for (const volume of service.volumes) expect(Object.keys(project.volumes)).toContain(volume.split(":")[0]);
    expect(service.image).toMatch(/:[0-9.]+[\w.-]*\}?$/);
    expect(JSON.stringify(service.environment)).not.toMatch(/postgres:\/\/|PASSWORD":/);
  }
});
