/** Documents for a server that has just been started. */
import { CommandFailure } from "../../command/index.ts";
import { readDocuments } from "../documents/read.ts";
import { openSession } from "../session/session.ts";
import { Apply } from "./engine.ts";
import { planDocuments } from "./plan.ts";
import { Report } from "./report.ts";

/** Milliseconds that one call may take. */
const timeoutMs = 60_000;

/**
 * Applies the documents of a file or folder, one after the other, so that they get the same uids each time. Prints only
 * failures. Errors: CommandFailure if a document is not applied.
 * @param server its base URL.
 */
export async function seedServer(server: string, token: string, path: string): Promise<void> {
  const documents = await planDocuments(await readDocuments([path]));
  const report = new Report(true);
  const apply = new Apply(await openSession({ server, token }, timeoutMs), "apply", report, undefined, documents);
  await apply.run(1);
  if (apply.failure !== undefined) throw new CommandFailure(`--seed ${path}: ${report.summary()}`);
}
