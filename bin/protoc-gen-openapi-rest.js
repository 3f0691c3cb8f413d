#!/usr/bin/env node
// A plugin of protoc and buf that writes an OpenAPI 3.1 document of services with google.api.http annotations.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isRecent, refuse } from "./node-version.js";

if (!isRecent) refuse("protoc-gen-openapi-rest");
const source = new URL("../src/openapi/plugin.ts", import.meta.url);
const entry = existsSync(source) ? source : new URL("../dist/program/plugin.js", import.meta.url);
const { runNodeJs } = await import("@bufbuild/protoplugin");
const { createOpenApiPlugin, plainDocument } = await import(fileURLToPath(entry));

runNodeJs(createOpenApiPlugin({ name: "protoc-gen-openapi-rest", version: "1", documentsOf: plainDocument }));
