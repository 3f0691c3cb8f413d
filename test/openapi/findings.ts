/** What validators and linters that know nothing of this product find in a document. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";
import { type RulesetDefinition, Spectral } from "@stoplight/spectral-core";
import { oas } from "@stoplight/spectral-rulesets";

/** The findings of all of them, one line each; none for a valid document. */
export async function findingsIn(document: unknown): Promise<string[]> {
  const text = JSON.stringify(document);
  const { valid, errors } = await new Validator().validate(JSON.parse(text));
  const invalid = valid ? [] : [`schema: ${typeof errors === "string" ? errors : JSON.stringify(errors)}`];
  return [...invalid, ...(await redocly(text)), ...(await spectral(text))];
}

async function redocly(text: string): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source: text, absoluteRef: "/openapi.json", config });
  return problems.map(({ ruleId, message, location }) => `redocly ${ruleId}: ${message} ${location[0]?.pointer ?? ""}`);
}

async function spectral(text: string): Promise<string[]> {
  const linter = new Spectral();
  linter.setRuleset({ extends: [[oas as unknown as RulesetDefinition, "recommended"]] });
  const problems = await linter.run(text);
  return problems.map(({ code, message, path }) => `spectral ${code}: ${message} ${path.join("/")}`);
}
