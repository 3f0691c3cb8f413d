/** What the commands of `access` are asked with, and who asks. */
import { InvalidArgumentError } from "commander";
import type { Capability } from "../../../gen/platform/capabilities/capabilities_pb.ts";
import { capabilitiesByName } from "../../auth/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { groupExists, type Reader } from "../../services/index.ts";
import type { Database } from "../../store/index.ts";
import { isUid, rootOf } from "../../uid.ts";
import { requireInstallation } from "../database.ts";

/** The operator, who may read everything. Errors: CommandFailure if the database is not initialised. */
export async function operatorOf(database: Database): Promise<Reader> {
  const { issuerUrl } = await requireInstallation(database);
  const everything = { scope: "", capabilities: new Set(capabilitiesByName.values()), identity: "" };
  return { grants: [everything], issuerUrl, nowMs: Date.now() };
}

/** Errors: CommandFailure unless a scope is in an organisation that exists. */
export async function requireScope(database: Database, scope: string): Promise<void> {
  if (!(await groupExists(database.read, rootOf(scope))))
    throw new CommandFailure(`--scope: there is no root group ${rootOf(scope)}`);
}

/** Parses the value of an option. Errors: InvalidArgumentError. */
export function parseUid(text: string): string {
  if (!isUid(text)) throw new InvalidArgumentError("It must be a uid.");
  return text;
}

/** Parses the name of a capability. Errors: InvalidArgumentError. */
export function parseCapability(name: string): Capability {
  const capability = capabilitiesByName.get(name);
  if (capability === undefined)
    throw new InvalidArgumentError(`There is no such capability${suggestion(name, capabilitiesByName.keys())}`);
  return capability;
}
