/** `platform proto`: exports the contract as files, to generate clients in any language. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DescFile } from "@bufbuild/protobuf";
import { Command, InvalidArgumentError } from "commander";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { file_google_rpc_status } from "../../gen/google/rpc/status_pb.ts";
import { packageFile } from "../package-file.ts";
import { contractServices } from "../services/index.ts";
import { printFile } from "./proto/print-file.ts";
import { withoutOptions } from "./proto/without-options.ts";

/** The root folder of the API's own files in the contract, and the Go module of their `go_package`. */
const ownRoot = "platform";
const ownGoModule = "platform.internal/api";

/** The file that declares value rules. */
const rulesFile = "buf/validate/validate";

export function makeCommand(): Command {
  const command = new Command("proto");
  command
    .command("export")
    .description("write the protobuf files of the API and their dependencies, for protoc, buf or grpcio-tools")
    .argument("<dir>", "folder to write to; pass it to the generator as import path (-I)")
    .option(
      "--root <name>",
      "folder of the API's own files; Python needs a name other than `platform`",
      parseRoot,
      ownRoot,
    )
    .option("--go-module <path>", "Go module of the generated code", parseGoModule, ownGoModule)
    .option("--no-value-rules", "leave out the value rules (buf.validate), which generated clients do not need")
    .option("--debug-redact", "keep `debug_redact` on secrets; needs protoc 22 or newer", false)
    .action(async (dir: string, options: ExportOptions) => {
      const files = await exportedFiles(options);
      for (const [path, text] of files) {
        const target = join(dir, path);
        await mkdir(dirname(target), { recursive: true });
        await writeFile(target, text);
      }
      console.error(`${files.size} files written to ${dir}`);
    });
  return command;
}

interface ExportOptions {
  /** Root folder of the API's own files: `a/b`. */
  readonly root: string;
  /** Go module of `go_package`. */
  readonly goModule: string;
  /** Whether fields keep their value rules, and `buf/validate` is written. */
  readonly valueRules: boolean;
  /** protoc 3.21, part of Debian 12 and 13 and Ubuntu 24.04, rejects files with `debug_redact`. */
  readonly debugRedact: boolean;
}

/**
 * Paths and texts of all files of the contract, the files they import, and those of error details. Files of
 * `google/protobuf` are left out because every generator includes them. The API's own files move to `root`. Third-party
 * files keep their paths: a program cannot load two copies of a file under different paths.
 */
async function exportedFiles(options: ExportOptions): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, DescFile>();
  for (const { file } of contractServices) collect(file, found);
  collect(file_google_rpc_status, found);
  collect(file_google_rpc_error_details, found);
  if (!options.valueRules) found.delete(rulesFile);
  const entries = [...found.values()].map(async (file): Promise<[string, string]> => {
    const path = `${file.name}.proto`;
    if (!path.startsWith(`${ownRoot}/`)) return [path, printFile(file)];
    return [
      options.root + path.slice(ownRoot.length),
      rewrite(await readFile(packageFile(`proto/${path}`), "utf8"), options),
    ];
  });
  return new Map(await Promise.all(entries));
}

function rewrite(source: string, { root, goModule, valueRules, debugRedact }: ExportOptions): string {
  const isLeftOut = (name: string) =>
    (!debugRedact && name === "debug_redact") || (!valueRules && name.startsWith("(buf.validate."));
  return withoutOptions(source, isLeftOut)
    .replace(valueRules ? "" : `import "${rulesFile}.proto";\n`, "")
    .replaceAll(`import "${ownRoot}/`, `import "${root}/`)
    .replace(`option go_package = "${ownGoModule}/${ownRoot}/`, `option go_package = "${goModule}/${root}/`);
}

function collect(file: DescFile, found: Map<string, DescFile>): void {
  if (found.has(file.name) || file.name.startsWith("google/protobuf/")) return;
  found.set(file.name, file);
  for (const dependency of file.dependencies) collect(dependency, found);
}

function parseRoot(text: string): string {
  if (/^[a-z][a-z0-9_]*(?:\/[a-z][a-z0-9_]*)*$/.test(text)) return text;
  throw new InvalidArgumentError("It takes lower-case letters, digits and underscores, and slashes between folders.");
}

function parseGoModule(text: string): string {
  if (/^[\w.~-]+(?:\/[\w.~-]+)*$/.test(text)) return text;
  throw new InvalidArgumentError("It takes a Go module path, for instance example.com/acme/api.");
}
