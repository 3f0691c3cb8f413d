#!/usr/bin/env node
// A plugin of protoc and buf that writes an OpenAPI 3.1 document of services with google.api.http annotations.
import { plainDocument, runPlugin } from "../../src/openapi/plugin.ts";

await runPlugin(plainDocument);
