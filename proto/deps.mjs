// Lays the third-party .proto files the contract imports into `.proto-deps`, a git-ignored second module of buf.yaml,
// so that buf needs no network. Those of `google` are files of packages/rest, which ships them; others come from
// installed npm packages: `buf/validate/validate.proto` is printed from the descriptor that its package has.
// Usage: node proto/deps.mjs [FOLDER]
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { file_buf_validate_validate as validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { printFile } from "../src/cli/proto/print-file.ts";

const target = process.argv[2] ?? join(import.meta.dirname, "..", ".proto-deps");
const require = createRequire(import.meta.url);

/** Path in `.proto-deps` → npm package and the path in it. */
const copies = {
  "grpc/health/v1/health.proto": ["grpc-health-check", "proto/health/v1/health.proto"],
  "grpc/reflection/v1/reflection.proto": ["@grpc/reflection", "build/proto/grpc/reflection/v1/reflection.proto"],
  "grpc/reflection/v1alpha/reflection.proto": [
    "@grpc/reflection",
    "build/proto/grpc/reflection/v1alpha/reflection.proto",
  ],
};

function write(path, text) {
  const file = join(target, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

rmSync(target, { recursive: true, force: true });
cpSync(join(import.meta.dirname, "../packages/rest/proto"), target, { recursive: true });
write(`${validate.name}.proto`, printFile(validate));
for (const [path, [name, source]] of Object.entries(copies)) {
  const root = dirname(require.resolve(`${name}/package.json`));
  write(path, readFileSync(join(root, source), "utf8"));
}
