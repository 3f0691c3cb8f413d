#!/usr/bin/env node
// A plugin of protoc and buf that writes an OpenAPI 3.1 document of services with google.api.http annotations.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runNodeJs } from "@bufbuild/protoplugin";

const source = new URL("../src/openapi/plugin.ts", import.meta.url);
const entry = existsSync(source) ? source : new URL("../dist/src/openapi/plugin.js", import.meta.url);
const { createOpenApiPlugin, plainDocument } = await import(fileURLToPath(entry));

runNodeJs(createOpenApiPlugin({ name: "protoc-gen-openapi-rest", version: "1", documentsOf: plainDocument }));
