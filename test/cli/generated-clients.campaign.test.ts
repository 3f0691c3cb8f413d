/** The generators of Python, Go and Java, where they are installed, read the contract as it is exported. */
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { campaign } from "../campaign.ts";
import { goProgram } from "../go-program.ts";
import { exportTo, filesOf } from "./exported-protos.ts";
import { settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";

const python = process.env.TEST_PYTHON ?? "python3";
const javaRuntime = "/usr/share/java/protobuf.jar"; // Debian's libprotobuf-java

function run(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}): string {
  return execFileSync(command, args, { cwd, env: { ...process.env, ...env }, encoding: "utf8", stdio: "pipe" });
}

/** Whether a command runs. */
function answers(command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

interface Language {
  readonly name: string;
  /** What is not installed; undefined when the test can run. */
  missing(): string | undefined;
  check(): Promise<void>;
}

const pythonClient: Language = {
  name: "Python: a generated client calls the server",
  missing: () => (answers(python, "-c", "import grpc_tools.protoc") ? undefined : `grpcio-tools for ${python}`),
  async check() {
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
  },
};

const goCode: Language = {
  name: "Go: the generated code compiles",
  missing() {
    if (!answers("protoc", "--version")) return "protoc";
    return goGenerator() === undefined ? "protoc-gen-go" : undefined;
  },
  async check() {
    const folder = await exportTo("--root", "platform_api", "--go-module", "example.com/acme/api");
    const out = join(dirname(folder), "go");
    await mkdir(out);
    const ours = filesOf(folder).filter((path) => path.startsWith("platform_api/"));
    const outputs = [`--go_out=${out}`, "--go_opt=module=example.com/acme/api"];
    run("protoc", [`--plugin=${goGenerator()}`, "-I.", ...outputs, ...ours], folder);
    writeFileSync(join(out, "go.mod"), "module example.com/acme/api\n\ngo 1.24\n");
    run("go", ["build", "./..."], out, { GOFLAGS: "-mod=mod" });
    expect(filesOf(out, ".pb.go")).toHaveLength(ours.length);
  },
};

const javaCode: Language = {
  name: "Java: the generated code compiles",
  missing() {
    if (!answers("protoc", "--version")) return "protoc";
    if (!answers("javac", "-version")) return "javac";
    return existsSync(javaRuntime) ? undefined : javaRuntime;
  },
  async check() {
    const folder = await exportTo();
    const out = join(dirname(folder), "java");
    await mkdir(out);
    run("protoc", ["-I.", `--java_out=${out}`, ...filesOf(folder)], folder);
    const source = "dev/platform/api/iam/v2/Identity.java"; // the compiler looks for what it uses, a third of the files
    run("javac", ["-nowarn", "-d", "classes", "-cp", javaRuntime, "-sourcepath", ".", source], out);
    expect(existsSync(join(out, "classes/dev/platform/api/iam/v2/Identity.class"))).toBe(true);
  },
};

const goGenerator = () => goProgram("google.golang.org/protobuf/cmd/protoc-gen-go", "v1.36.6");

test.for(campaign({ short: [pythonClient], full: [pythonClient, goCode, javaCode] }))(
  "$name",
  { timeout: 600_000 },
  async ({ missing, check }, { skip }) => {
    const what = missing();
    if (what !== undefined) {
      console.log(`skipped: ${what} is not installed`);
      skip();
    }
    await check();
  },
);
