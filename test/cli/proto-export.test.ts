/** The contract as files: read by buf, and by the generators of Python, Go and Java where they are installed. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { contractServices } from "../../src/services/index.ts";
import { goProgram } from "../go-program.ts";
import { repository, settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";
import { runHere } from "./run-here.ts";

const buf = join(repository, "node_modules/.bin/buf");
const python = process.env.TEST_PYTHON ?? "python3";
const javaRuntime = "/usr/share/java/protobuf.jar"; // Debian's libprotobuf-java

/** Exports into a new folder. */
async function exportTo(...options: string[]): Promise<string> {
  const folder = join(await temporaryFolder(), "proto");
  const { code, stdout, stderr } = await runHere(["proto", "export", folder, ...options]);
  const written = `${filesOf(folder).length} files written to ${folder}\n`;
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: written });
  return folder;
}

/** The paths of the files below `folder`, relative to it. */
function filesOf(folder: string, ending = ".proto"): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function run(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}): string {
  return execFileSync(command, args, { cwd, env: { ...process.env, ...env }, encoding: "utf8", stdio: "pipe" });
}

/** Whether `command` runs; otherwise the test that asks is told to be skipped, by what it wants. */
function answers(command: string, args: string[], wanted: string): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    console.log(`skipped: ${wanted} is not installed`);
    return false;
  }
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
    const image = execFileSync(buf, ["build", folder, "--as-file-descriptor-set", "-o", "-"], { stdio: "pipe" });
    const { file: files } = fromBinary(FileDescriptorSetSchema, image);
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
    expect(secrets).toEqual(["signing_secret", "code", "code", "client_secret"]);
  });

  test("a root that is no folder name is refused", async () => {
    const { code, stderr } = await runHere(["proto", "export", await temporaryFolder(), "--root", "../Up"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--root");
  });
});

describe("stock generators take it", () => {
  const hasGrpcTools = answers(python, ["-c", "import grpc_tools.protoc"], `grpcio-tools for ${python}`);
  const hasProtoc = answers("protoc", ["--version"], "protoc");
  const hasJava = hasProtoc && answers("javac", ["-version"], "javac");
  if (hasJava && !existsSync(javaRuntime)) console.log(`skipped: ${javaRuntime} is not installed`);

  test.skipIf(!hasGrpcTools)("Python: a generated client calls the server", { timeout: 120_000 }, async () => {
    const folder = await exportTo("--root", "platform_api");
    const out = join(dirname(folder), "python");
    await mkdir(out);
    const outputs = [`--python_out=${out}`, `--grpc_python_out=${out}`];
    run(python, ["-m", "grpc_tools.protoc", "-I.", ...outputs, ...filesOf(folder)], folder);
    const server = await startPlatformForTest(settingsIn(await temporaryFolder()).serve);
    const script = [
      "import sys, grpc",
      "from platform_api.ping.v2 import ping_pb2, ping_pb2_grpc",
      "channel = grpc.insecure_channel(sys.argv[1])",
      "print(ping_pb2_grpc.PingServiceStub(channel).Ping(ping_pb2.PingRequest(), timeout=30).response)",
    ].join("\n");
    expect(run(python, ["-c", script, new URL(server.baseUrl).host], out)).toBe("pong\n");
  });

  test.skipIf(!hasProtoc)("Go: the generated code compiles", { timeout: 600_000 }, async ({ skip }) => {
    const generator = goProgram("google.golang.org/protobuf/cmd/protoc-gen-go", "v1.36.6");
    if (generator === undefined) skip("protoc-gen-go cannot be built");
    const folder = await exportTo("--root", "platform_api", "--go-module", "example.com/acme/api");
    const out = join(dirname(folder), "go");
    await mkdir(out);
    const ours = filesOf(folder).filter((path) => path.startsWith("platform_api/"));
    const outputs = [`--go_out=${out}`, "--go_opt=module=example.com/acme/api"];
    run("protoc", [`--plugin=${generator}`, "-I.", ...outputs, ...ours], folder);
    writeFileSync(join(out, "go.mod"), "module example.com/acme/api\n\ngo 1.24\n");
    run("go", ["build", "./..."], out, { GOFLAGS: "-mod=mod" });
    expect(filesOf(out, ".pb.go")).toHaveLength(ours.length);
  });

  test.skipIf(!hasJava || !existsSync(javaRuntime))(
    "Java: the generated code compiles",
    { timeout: 120_000 },
    async () => {
      const folder = await exportTo();
      const out = join(dirname(folder), "java");
      await mkdir(out);
      run("protoc", ["-I.", `--java_out=${out}`, ...filesOf(folder)], folder);
      const source = "dev/platform/api/iam/v2/Identity.java"; // the compiler looks for what it uses, a third of the files
      run("javac", ["-nowarn", "-d", "classes", "-cp", javaRuntime, "-sourcepath", ".", source], out);
      expect(existsSync(join(out, "classes/dev/platform/api/iam/v2/Identity.class"))).toBe(true);
    },
  );
});
