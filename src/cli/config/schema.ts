/** `platform config schema`: a JSON Schema of the configuration file, so that editors complete and check it. */
import { Command } from "commander";
import { type DeprecatedSetting, deprecatedSettings, type JsonSchema, settings } from "../../config/index.ts";

export function schemaCommand(): Command {
  return new Command("schema")
    .description("print a JSON Schema of the configuration file, for editors")
    .action(() => console.log(JSON.stringify(configSchema(), undefined, 2)));
}

/** The schema, of draft 2020-12. */
export function configSchema(): JsonSchema {
  const current = Object.entries(settings).map(([key, { help, default: byDefault, parse }]) => {
    const schema = parse.schema ?? { type: "string" };
    return [
      key,
      { ...schema, description: help, ...(byDefault !== undefined && { default: canonical(byDefault, schema) }) },
    ];
  });
  const deprecated = Object.entries<DeprecatedSetting>(deprecatedSettings).map(([key, { use, placeholder }]) => [
    key,
    {
      type: placeholder === undefined ? "boolean" : ["string", "integer"],
      description: `deprecated: use ${use}`,
      deprecated: true,
    },
  ]);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration file of platform",
    type: "object",
    properties: {
      $schema: { type: "string", description: "the address of this schema, for editors" },
      ...Object.fromEntries([...current, ...deprecated]),
    },
    additionalProperties: false,
  };
}

/** The value in a file that has a text. */
function canonical(text: string, { type }: JsonSchema): string | number | boolean {
  if (type === "boolean") return text === "true";
  return [type].flat().includes("integer") && /^\d+$/.test(text) ? Number(text) : text;
}
