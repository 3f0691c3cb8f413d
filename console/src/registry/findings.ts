/** What a report of a scanner says. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Rating } from "../advisory/cvss.ts";
import { title } from "../contract.ts";

/** How severe a finding is, a message Vulnerability in JSON. */
export function ratingOf({ severity }: JsonObject): Rating {
  return title(String(severity ?? "UNKNOWN")) as Rating;
}

/** The texts of a repeated field. */
export function textsOf(value: JsonValue | undefined): readonly string[] {
  return (value ?? []) as string[];
}
