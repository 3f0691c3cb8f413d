/** Values that recordings do not have. */
import type { DescMessage } from "@bufbuild/protobuf";
import { contractRegistry } from "../catalog/descriptors.ts";

const placeholder = "(redacted)";
const oauth = ["token", "access_token", "refresh_token", "id_token", "subject_token", "client_secret"];
/** A JSON Web Token, wherever it stands. */
const webToken = /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g;

let names: ReadonlySet<string> | undefined;

/** JSON without secrets: texts of fields that the contract marks as secret, tokens of OAuth, and JSON Web Tokens. */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === "string") return withoutTokens(value);
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== "object" || value === null) return value;
  names ??= secretNames();
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      names!.has(name) && typeof item === "string" && item !== "" ? placeholder : withoutSecrets(item),
    ]),
  );
}

/** A text without JSON Web Tokens. */
export function withoutTokens(text: string): string {
  return text.replace(webToken, placeholder);
}

/** In both spellings. */
function secretNames(): ReadonlySet<string> {
  const found = new Set([...oauth, "refreshToken"]);
  const visit = (message: DescMessage) => {
    for (const { name, jsonName, proto } of message.fields)
      if (proto.options?.debugRedact) found.add(name).add(jsonName);
    message.nestedMessages.forEach(visit);
  };
  for (const file of contractRegistry().files) file.messages.forEach(visit);
  return found;
}
