/** `platform create`: one command for each resource that can be created. */
import { Command } from "commander";
import { contractCatalog } from "../catalog/contract.ts";
import { addFieldFlags } from "../catalog/flags.ts";
import type { ResourceEntry } from "../catalog/resources.ts";
import { uidOfParent } from "../documents/lookup.ts";
import { createResource } from "../documents/requests.ts";
import { checkAll, checkSpec, messageOf } from "../documents/spec.ts";
import { printMessages, withOutput } from "../print/print.ts";
import { clearSecrets } from "../print/secrets.ts";
import { inSession, withSession } from "../session/session.ts";
import { documentsOf, etagField, resolveReferences, sourceOf, specOf } from "./fields.ts";

export function makeCommand(): Command {
  const command = new Command("create").description("Create a resource.");
  for (const resource of contractCatalog().resources)
    if (resource.methods.Create !== undefined) command.addCommand(createOne(resource));
  return command;
}

function createOne(resource: ResourceEntry): Command {
  const command = named(resource, `create ${article(resource.singular)}`)
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

/** A command for one resource, by its singular, plural and kind. */
export function named(resource: ResourceEntry, description: string): Command {
  const { singular, plural, kind } = resource;
  const command = new Command(singular).description(description);
  for (const alias of new Set([plural, kind])) if (alias !== singular) command.alias(alias);
  return command;
}

/** `a role`, `an identity`. */
export function article(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}
