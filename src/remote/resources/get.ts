/** `platform get`: resources by uid or name. */
import { Command } from "commander";
import { findListed, isImage } from "../catalog/contract.ts";
import { uidOfResource } from "../documents/lookup.ts";
import { methodOf } from "../documents/requests.ts";
import { documentsFormat, printAsDocuments, requireDocuments } from "../documents/write.ts";
import { printMessages, requireNames, withOutput } from "../print/print.ts";
import { callMethod } from "../session/call.ts";
import { inSession, type Session, withSession } from "../session/session.ts";
import { parentOption, requireResource } from "./resource-command.ts";

export function makeCommand(): Command {
  const command = withOutput(withSession(new Command("get")), "table", [documentsFormat])
    .argument("<RESOURCE>", "`platform resources` lists them")
    .argument("<UID|NAME...>", "also a path: team/prod/nginx; an image as REPO:TAG or REPO@DIGEST")
    .addOption(parentOption());
  return command.action((name: string, texts: readonly string[]) =>
    inSession(command, async (session) => {
      if (isImage(findListed(name)?.schema)) return getImages(command, session, texts);
      const resource = requireResource(name);
      const method = methodOf(resource, "Get");
      const { parent } = command.opts<{ readonly parent?: string }>();
      const isDocuments = command.opts<{ output: string }>().output === documentsFormat;
      if (isDocuments) requireDocuments(resource);
      async function* found() {
        for (const text of texts)
          yield await callMethod(session, method, { uid: await uidOfResource(session, resource, text, parent) });
      }
      if (isDocuments) return printAsDocuments(session, resource, found());
      await printMessages(command, method.output, found(), { single: texts.length === 1 });
    }),
  );
}

/** Images have no uid of their own. */
async function getImages(command: Command, session: Session, texts: readonly string[]): Promise<void> {
  const { schema } = findListed("images")!;
  requireNames(command, schema);
  const { getImage } = await import("../findings/images.ts");
  async function* found() {
    for (const text of texts) yield await getImage(session, text);
  }
  await printMessages(command, schema, found(), { single: texts.length === 1 });
}
