/** `platform export sbom`: the bill of materials of an image. */
import { writeFile } from "node:fs/promises";
import { createClient } from "@connectrpc/connect";
import { Command, Option } from "commander";
import { DocumentsService } from "../../../gen/platform/findings/v1/sboms_pb.ts";
import { inSession, withSession } from "../session/session.ts";
import { findImage } from "./image-name.ts";

interface Options {
  readonly format: string;
  readonly document?: string;
  readonly output?: string;
}

export function makeCommand(): Command {
  const command = new Command("sbom")
    .description("Print the bill of materials of an image: as it came, or made of all that is known.")
    .argument("<REPO:TAG|REPO@DIGEST>", "the image")
    .addOption(
      new Option("--format <FORMAT>", "as it came, or the format to make")
        .choices(["original", "cyclonedx-1.6", "spdx-2.3"])
        .default("original"),
    )
    .option("--document <DIGEST>", "of several documents as they came, the one with this digest")
    .option("-o, --output <FILE>", "write it to a file instead of standard output");
  return withSession(command).action((image: string, { format, document = "", output }: Options, self: Command) =>
    inSession(self, async (session) => {
      const place = await findImage(session, image);
      const client = createClient(DocumentsService, session.transport);
      const { data } = await client.exportSbom({ ...place, format, documentDigest: document });
      if (output !== undefined) await writeFile(output, data);
      else process.stdout.write(data);
    }),
  );
}
