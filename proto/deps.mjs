// Lays the third-party .proto files the contract imports into `.proto-deps`, a git-ignored second module of buf.yaml,
// so that buf needs no network. All come from installed npm packages: most are copied, `buf/validate/validate.proto` is
// printed from the descriptor its package ships. Usage: node proto/deps.mjs
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { file_buf_validate_validate as validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { printFile } from "../src/cli/proto/print-file.ts";

const target = join(import.meta.dirname, "..", ".proto-deps");
const require = createRequire(import.meta.url);

/** Path in `.proto-deps` → npm package and the path in it. */
const copies = {
  "google/api/annotations.proto": ["google-proto-files", "google/api/annotations.proto"],
  "google/api/client.proto": ["google-proto-files", "google/api/client.proto"],
  "google/api/field_behavior.proto": ["google-proto-files", "google/api/field_behavior.proto"],
  "google/api/field_info.proto": ["google-proto-files", "google/api/field_info.proto"],
  "google/api/http.proto": ["google-proto-files", "google/api/http.proto"],
  "google/api/httpbody.proto": ["google-proto-files", "google/api/httpbody.proto"],
  "google/api/launch_stage.proto": ["google-proto-files", "google/api/launch_stage.proto"],
  "google/api/resource.proto": ["google-proto-files", "google/api/resource.proto"],
  "google/rpc/code.proto": ["google-proto-files", "google/rpc/code.proto"],
  "google/rpc/error_details.proto": ["google-proto-files", "google/rpc/error_details.proto"],
  "google/rpc/status.proto": ["google-proto-files", "google/rpc/status.proto"],
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
write(`${validate.name}.proto`, printFile(validate));
for (const [path, [name, source]] of Object.entries(copies)) {
  const root = dirname(require.resolve(`${name}/package.json`));
  write(path, readFileSync(join(root, source), "utf8"));
}
