/** The packages of a bill of materials in a file, as `platform check` asks for them. */
import { CommandFailure } from "../command/index.ts";
import { formatPackageUrl } from "../package-url.ts";
import type { SbomPackages } from "../remote/index.ts";

/** Reads a bill of materials. Errors: CommandFailure. @param name of the file, for errors. */
export async function readSbomPackages(bytes: Uint8Array, name: string): Promise<SbomPackages> {
  const { FeedRefusal, readSbom } = await import("../feeds/index.ts");
  const notes: string[] = [];
  try {
    const { packages, unmatched } = readSbom(bytes, {
      refuse: (path, reason) => notes.push(`${name}: ${path}: ${reason}`),
      unread: () => {}, // members without meaning for a check
    });
    return {
      packages: packages
        .filter(({ type }) => type !== "")
        .map((each) => ({
          purl: formatPackageUrl(each, each.name),
          version: each.version,
          origin: each.origin,
          originVersion: each.originVersion,
        })),
      unmatched,
      notes,
    };
  } catch (error) {
    if (error instanceof FeedRefusal) throw new CommandFailure(`${name}: ${error.message}`, 2);
    throw error;
  }
}
