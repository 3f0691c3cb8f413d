/** `platform update`: one command for each resource that can be updated. */
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { CommandFailure } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { addFieldFlags } from "../catalog/flags.ts";
import { kebab, type ResourceEntry } from "../catalog/resources.ts";
import { differencesOf, mergedFields, pathsOf } from "../documents/differences.ts";
import { uidOfResource } from "../documents/lookup.ts";
import { getResource, type Resource, type UpdateOptions, updateResource } from "../documents/requests.ts";
import { checkValues, messageOf, type Spec } from "../documents/spec.ts";
import { printMessages, withOutput } from "../print/print.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { editFields } from "./edit.ts";
import { documentsOf, resolveReferences, settableFields, specOf } from "./fields.ts";
import { addForce, commandOfEach, parentOption } from "./resource-command.ts";

export function makeCommand(): Command {
  return commandOfEach("Update", "Change a resource.", "change", updateOne);
}

function updateOne(command: Command, resource: ResourceEntry): Command {
  command
    .argument("<UID|NAME>", "which")
    .addOption(parentOption())
    .option("-f, --filename <FILE>", "fields in YAML or JSON; - is standard input")
    .option("--clear <FIELD...>", "fields that get no value")
    .option("--edit", "edit the fields in $VISUAL or $EDITOR")
    .option("--dry-run", "have the server check it, and change nothing");
  addForce(command, resource.methods.Update!);
  const flags = addFieldFlags(withSession(withOutput(command, "yaml")), resource.schema);
  return command.action(async (name: string, options, self: Command) =>
    inSession(self, async (session) => {
      const [document, ...others] = await documentsOf(options.filename);
      if (others.length > 0) throw new CommandFailure("-f: more than one document", 2);
      const spec = specOf(resource, self, flags, document);
      for (const field of options.clear ?? []) spec.fields[clearedField(resource, field)] = null;
      if (Object.keys(spec.fields).length === 0 && !options.edit)
        throw new CommandFailure("nothing to change: give fields, --clear, -f or --edit", 2);
      const existing = await getResource(
        session,
        resource,
        await uidOfResource(session, resource, name, options.parent),
      );
      const isDry = options.dryRun === true;
      const how = { validateOnly: isDry, ...(options.force && { force: true }) };
      const update = (changes: Spec) => updateFields(session, resource, existing, changes, how);
      const updated = options.edit ? await editFields(resource, existing, spec, update) : await update(spec);
      await printMessages(self, resource.schema, [updated], { single: true });
      if (isDry) console.error("note: dry run: nothing is changed");
    }),
  );
}

/** Sends what differs, with the etag that was read. Returns the resource. */
async function updateFields(
  session: Session,
  resource: ResourceEntry,
  existing: Resource,
  spec: Spec,
  how: UpdateOptions,
): Promise<Resource> {
  const { schema } = resource;
  await resolveReferences(session, spec);
  const before = toJson(schema, existing, { alwaysEmitImplicit: true }) as JsonObject;
  const wanted = messageOf(schema, mergedFields(schema, before, spec.fields));
  const after = toJson(schema, wanted, { alwaysEmitImplicit: true }) as JsonObject;
  const differences = differencesOf(schema, spec.fields, before, after, { comparesInput: true });
  if (differences.length === 0) {
    console.error("note: nothing differs");
    return existing;
  }
  await checkValues(schema, wanted, (jsonName) => jsonName in spec.fields);
  return updateResource(session, resource, wanted, pathsOf(differences), how);
}

/** The JSON name of a field to clear. */
function clearedField({ schema }: ResourceEntry, name: string): string {
  const fields = settableFields(schema);
  const found = fields.find((field) => kebab(field.name) === kebab(name));
  if (found !== undefined) return found.jsonName;
  const hint = suggestion(
    name,
    fields.map((field) => field.name),
  );
  throw new CommandFailure(`--clear ${name}: ${schema.name} has no such field${hint}`, 2);
}
