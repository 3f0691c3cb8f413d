/** The peers in Go and Rust, built where their languages are installed. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const peers = join(root, "bench/peers");
const built = join(root, "node_modules/.cache/bench-peers");

/** The peers by language. Go's server has `http1` and gRPC on one port. */
export const nativePeers = {
  go: ["net-http", "grpc-go", "connect-go", "grpc-gateway"],
  rust: ["axum", "tonic"],
} as const;

type Language = keyof typeof nativePeers;

const needed = { go: ["go", "protoc"], rust: ["cargo", "protoc"] } as const;
const programs = new Map<Language, string | undefined>();

/** The language of a peer; undefined if it is one for Node. */
export function languageOf(peer: string): Language | undefined {
  return (Object.keys(nativePeers) as Language[]).find((language) =>
    nativePeers[language].some((name) => name === peer),
  );
}

/** The program of a language, built once; undefined, with the reason printed, if that is not possible here. */
export function programOf(language: Language): string | undefined {
  if (!programs.has(language)) programs.set(language, build(language));
  return programs.get(language);
}

function build(language: Language): string | undefined {
  const missing = needed[language].filter((program) => spawnSync("which", [program]).status !== 0);
  if (missing.length > 0) {
    console.log(`rows of ${nativePeers[language].join(", ")} are skipped: ${missing.join(" and ")} not found`);
    return undefined;
  }
  mkdirSync(built, { recursive: true });
  return language === "go" ? buildGo() : buildRust();
}

const run = (folder: string, program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  execFileSync(program, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });

function buildGo(): string {
  const folder = join(built, "go");
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(peers, "go"), folder, { recursive: true });
  const plugins = ["go", "go-grpc", "grpc-gateway", "connect-go"].flatMap((name) => [
    `--plugin=${run(folder, "go", ["tool", "-n", `protoc-gen-${name}`])
      .toString()
      .trim()}`,
    `--${name}_out=.`,
    `--${name}_opt=module=platform.internal/bench`,
  ]);
  run(folder, "protoc", [`-I${peers}`, `-I${join(root, ".proto-deps")}`, "repos.proto", ...plugins]);
  run(folder, "go", ["build", "-o", "peer", "."]);
  return join(folder, "peer");
}

function buildRust(): string {
  const target = join(built, "rust");
  run(join(peers, "rust"), "cargo", ["build", "--release", "--quiet", "--locked"], { CARGO_TARGET_DIR: target });
  return join(target, "release/peer");
}
