/** `platform openapi`: prints the OpenAPI document of the API, to generate clients for REST. */
import { Command, Option } from "commander";
import { type OpenApiFormat, type OpenApiVersion, openApiFormats, openApiVersions, readOpenApi } from "../app/index.ts";

export function makeCommand(): Command {
  return new Command("openapi")
    .addOption(new Option("--format <format>", "form of the document").choices(openApiFormats).default("json"))
    .addOption(new Option("--version <version>", "version of the API").choices(openApiVersions).default("v2"))
    .action(async ({ format, version }: { format: OpenApiFormat; version: OpenApiVersion }) => {
      process.stdout.write(await readOpenApi(version, format));
    });
}
