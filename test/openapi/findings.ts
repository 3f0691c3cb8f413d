/** What validators and linters that know nothing of this product find in a document. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";

/** The findings of all of them, one line each; none for a valid document. */
export async function findingsIn(document: unknown): Promise<string[]> {
  const text = JSON.stringify(document);
  const { valid, errors } = await new Validator().validate(JSON.parse(text));
  const invalid = valid ? [] : [`schema: ${typeof errors === "string" ? errors : JSON.stringify(errors)}`];
  return [...invalid, ...(await redocly(text))];
}

async function redocly(text: string): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const problems = await lintFromString({ source: text, absoluteRef: "/openapi.json", config });
  return problems.map(({ ruleId, message, location }) => `redocly ${ruleId}: ${message} ${location[0]?.pointer ?? ""}`);
}
