/**
 * scim2-tester, https://scim2-tester.readthedocs.io, which holds the endpoint of provisioning clients against the RFCs.
 */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { onEveryServer } from "./iam-server.ts";

const python = process.env.TEST_PYTHON;
const program = python === undefined ? undefined : join(dirname(python), "scim2");
const providers = "/iam/v1/identityProviders";

async function isInstalled(): Promise<boolean> {
  if (program === undefined) return false;
  return promisify(execFile)(program, ["--help"]).then(
    () => true,
    () => false,
  );
}

onEveryServer("a provisioning client by others", (server) => {
  test("finds no fault", { timeout: 300_000 }, async ({ skip }) => {
    if (!(await isInstalled())) {
      console.log("skipped: scim2-cli is not installed beside the Python that TEST_PYTHON names");
      skip();
    }
    const { id: organisation } = await server().ok("POST /iam/v1/groups", { name: "acme" });
    const { id } = await server().ok(`POST ${providers}/${organisation}`, {
      name: "login",
      defaultRole: builtInRoleUid("viewer"),
      oidc: { issuer: "https://login.example", clientId: "web", pkceEnabled: true },
    });
    const { token, etag, endpointUrl } = await server().ok(`POST ${providers}/${id}:generateScimToken`, {});
    await server().ok(`POST ${providers}/${id}:setScimEnabled`, { enabled: true, etag });
    const { stdout } = await promisify(execFile)(
      program!,
      ["--url", endpointUrl, "--header", `Authorization: Bearer ${token}`, "test"],
      { maxBuffer: 64 * 1024 * 1024 },
    ).catch((error: { stdout: string }) => error); // it exits with 1 when it finds something
    const count = (status: string) => stdout.match(new RegExp(`^${status}\\b`, "gm"))?.length ?? 0;
    console.log(`scim2-tester: ${count("SUCCESS")} checks passed, ${count("SKIPPED")} skipped`);
    expect([count("ERROR"), count("CRITICAL")], stdout.slice(-8000)).toEqual([0, 0]);
    expect(count("SUCCESS")).toBeGreaterThan(100);
  });
});
