/** The services of the contract as they are generated, whether the server mounts them or not. */
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { DescFile, DescService } from "@bufbuild/protobuf";

/** Every service of `gen/platform`. */
export async function generatedServices(): Promise<readonly DescService[]> {
  const folder = new URL("../../gen/platform/", import.meta.url);
  const paths = await readdir(fileURLToPath(folder), { recursive: true });
  const modules = paths.filter((path) => /_pb\.[jt]s$/.test(path)).map((path) => import(new URL(path, folder).href));
  return (await Promise.all(modules)).flatMap((module: Record<string, DescFile>) =>
    Object.values(module).flatMap((each) => (each.kind === "file" ? each.services : [])),
  );
}
