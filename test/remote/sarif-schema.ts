/** The JSON schema of SARIF 2.1.0, which a package of npm carries. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";

/** The package. */
export const carrier = "@microsoft/jest-sarif@1.0.0-beta.0";

/** Gets and compiles the schema; undefined where npm does not carry the package. */
export function loadSarifSchema(): ValidateFunction | undefined {
  const folder = mkdtempSync(join(tmpdir(), "platform-sarif-"));
  try {
    const { status, stdout } = spawnSync("npm", ["pack", "--silent", carrier], { cwd: folder, encoding: "utf8" });
    if (status !== 0) return undefined;
    execFileSync("tar", ["xzf", stdout.trim()], { cwd: folder });
    const path = join(folder, "package/lib/schemas/sarif-2.1.0-rtm.5.json");
    const ajv = new Ajv({ strict: false, unicodeRegExp: false });
    addFormats.default(ajv);
    // Of draft 4 the schema uses nothing that later drafts read otherwise, but for the name of its id.
    const { $schema: _, id: __, ...schema } = JSON.parse(readFileSync(path, "utf8"));
    return ajv.compile(schema);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
