/** `platform create`: one command for each resource that can be created. */
import type { Command } from "commander";
import { addFieldFlags } from "../catalog/flags.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { uidOfParent } from "../documents/lookup.ts";
import { createResource } from "../documents/requests.ts";
import { checkAll, checkSpec, messageOf } from "../documents/spec.ts";
import { printMessages, withOutput } from "../print/print.ts";
import { clearSecrets } from "../print/secrets.ts";
import { inSession, withSession } from "../session/session.ts";
import { documentsOf, etagField, resolveReferences, sourceOf, specOf } from "./fields.ts";
import { commandOfEach } from "./resource-command.ts";

export function makeCommand(): Command {
  return commandOfEach("Create", "Create a resource.", "create", createOne);
}

function createOne(command: Command, resource: ResourceEntry): Command {
  command
    .option("--parent <UID|NAME>", "where to create it")
    .option("-f, --filename <FILE>", "fields in YAML or JSON, also of several resources; - is standard input")
    .option("--dry-run", "have the server check it, and create nothing");
  const flags = addFieldFlags(withSession(withOutput(command, "yaml")), resource.schema, [etagField]);
  return command.action(async (options, self: Command) =>
    inSession(self, async (session) => {
      const documents = await checkAll(await documentsOf(options.filename), async (document) => {
        const spec = specOf(resource, self, flags, document);
        await checkSpec(resource.schema, spec, sourceOf(document), true);
        return { document, spec };
      });
      async function* created() {
        for (const { document, spec } of documents) {
          const parentText: string = options.parent ?? (document?.value.spec && document.value.parent) ?? "";
          const parent = parentText === "" ? "" : await uidOfParent(session, resource, parentText);
          await resolveReferences(session, spec);
          const message = messageOf(resource.schema, spec.fields);
          const resourceCreated = await createResource(session, resource, parent, message, options.dryRun === true);
          if (options.dryRun) clearSecrets(resource.schema, resourceCreated);
          yield resourceCreated;
        }
      }
      const printing = { single: options.filename === undefined, hasSecrets: true };
      await printMessages(self, resource.schema, created(), printing);
      if (options.dryRun) console.error("note: dry run: nothing is created");
    }),
  );
}
