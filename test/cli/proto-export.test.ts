/** The contract as files, read by buf. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFileRegistry, fromBinary, toJson } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { contractServices } from "../../src/services/index.ts";
import { exportTo, filesOf } from "./exported-protos.ts";
import { repository, temporaryFolder } from "./platform-process.ts";
import { runHere } from "./run-here.ts";

const buf = join(repository, "node_modules/.bin/buf");

/** The compiled files of a folder. */
function compiled(folder: string): FileDescriptorSet {
  const image = execFileSync(buf, ["build", folder, "--as-file-descriptor-set", "--exclude-source-info", "-o", "-"]);
  return fromBinary(FileDescriptorSetSchema, image);
}

describe("what is written", () => {
  test.each([
    { options: [], root: "platform", goModule: "platform.internal/api" },
    {
      options: ["--root", "acme/api", "--go-module", "example.com/acme"],
      root: "acme/api",
      goModule: "example.com/acme",
    },
  ])("$root: compiles by itself, to the services of the contract", async ({ options, root, goModule }) => {
    const folder = await exportTo(...options);
    const { file: files } = compiled(folder);
    const methods = files.flatMap(({ package: name, service }) =>
      service.flatMap((one) => one.method.map((method) => `${name}.${one.name}/${method.name}`)),
    );
    const contract = [...contractServices].flatMap(({ typeName, methods }) =>
      methods.map(({ name }) => `${typeName}/${name}`),
    );
    expect(methods.sort()).toEqual(contract.sort());
    const ours = files.filter(({ package: name }) => name.startsWith("platform."));
    for (const { name, options: fileOptions, package: packageName } of ours) {
      expect(name.startsWith(`${root}/`), name).toBe(true);
      expect(fileOptions?.goPackage).toMatch(new RegExp(`^${goModule}/${root}/[\\w/]+;[a-z0-9]+$`));
      expect(fileOptions?.javaPackage).toBe(`dev.platform.api.${packageName.slice("platform.".length)}`);
    }
  });

  test("debug_redact is left out for older compilers, unless it is asked for; nothing else differs", async () => {
    const [plain, redacted] = await Promise.all([exportTo(), exportTo("--debug-redact")]);
    expect(filesOf(plain)).toEqual(filesOf(redacted));
    const texts = (folder: string) =>
      filesOf(folder)
        .map((path) => readFileSync(join(folder, path), "utf8"))
        .join("");
    expect(texts(plain)).not.toContain("debug_redact");
    const secrets = texts(redacted)
      .split(";")
      .filter((statement) => statement.includes("debug_redact = true"))
      .map((statement) => /string (\w+) = \d+ \[/.exec(statement)?.[1]);
    const ofV1 = ["client_secret", "token", "token", "code", "raw_report_url"];
    expect(secrets.sort()).toEqual(
      ["signing_secret", "signing_secret", "code", "code", "client_secret", ...ofV1].sort(),
    );
  });

  test("without value rules: nothing else differs, in descriptors and in comments", async () => {
    const [plain, withoutRules] = await Promise.all([exportTo(), exportTo("--no-value-rules")]);
    const rulesFile = "buf/validate/validate.proto";
    expect(filesOf(withoutRules)).toEqual(filesOf(plain).filter((path) => path !== rulesFile));
    const [kept, left] = [plain, withoutRules].map((folder) =>
      filesOf(folder)
        .filter((path) => path.startsWith("platform/"))
        .flatMap((path) => readFileSync(join(folder, path), "utf8").match(/^ *\/\/.*$/gm)),
    );
    expect(left).toEqual(kept);
    const [all, fewer] = [compiled(plain), compiled(withoutRules)];
    const registry = createFileRegistry(fewer); // of the extensions that are shown in JSON
    const shown = ({ file: files }: FileDescriptorSet) =>
      JSON.stringify(
        files
          .filter(({ name }) => name !== rulesFile)
          .sort((one, other) => (one.name < other.name ? -1 : 1))
          .map((file) => toJson(FileDescriptorProtoSchema, file, { registry })),
        (key, value) => {
          const kept = key === "dependency" ? value.filter((path: string) => path !== rulesFile) : value;
          const isEmpty = (key === "dependency" || key === "options") && Object.keys(kept).length === 0;
          return isEmpty ? undefined : kept;
        },
        1,
      );
    expect(shown(fewer)).toBe(shown(all));
  });

  test("protoc of Debian and Ubuntu reads it", async ({ skip }) => {
    const folder = await exportTo();
    try {
      execFileSync("protoc", ["--version"]);
    } catch {
      console.log("skipped: protoc is not installed");
      skip();
    }
    execFileSync("protoc", ["-I.", "-o/dev/null", ...filesOf(folder)], { cwd: folder, stdio: "pipe" });
  });

  test("a root that is not a folder name is refused", async () => {
    const { code, stderr } = await runHere(["proto", "export", await temporaryFolder(), "--root", "../Up"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--root");
  });
});
