/** What the commands of `access` are asked with, and who asks. */
import { capabilitiesByName } from "../../auth/index.ts";
import { groupExists, type Reader } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";
import { isUid, rootOf } from "../../uid.ts";
import { requireInstallation } from "../database.ts";
import { CommandFailure } from "../failure.ts";

/** The operator, who may read everything. Errors: CommandFailure if the database is not initialised. */
export async function operatorOf(database: Database): Promise<Reader> {
  const { issuerUrl } = await requireInstallation(database);
  return { grants: [{ scope: "", capabilities: new Set(capabilitiesByName.values()) }], issuerUrl, nowMs: Date.now() };
}

/** Errors: CommandFailure unless `--scope` is the uid of a group, or of something in an organisation that exists. */
export async function requireScope(database: Database, scope: string): Promise<void> {
  requireUid("--scope", scope);
  if (!(await groupExists(database.read, rootOf(scope))))
    throw new CommandFailure(`--scope: there is no root group ${rootOf(scope)}`);
}

/** Errors: CommandFailure unless the value of an option is a uid. */
export function requireUid(option: string, text: string): void {
  if (!isUid(text)) throw new CommandFailure(`${option} must be a uid, not ${JSON.stringify(text)}`);
}
