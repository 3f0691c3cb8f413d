/** Reads a software bill of materials: SPDX or CycloneDX, detected by its members. */

import type { Unread } from "../records/fields.ts";
import { parseJson } from "../records/parse.ts";
import { FeedRefusal } from "../source/refusal.ts";
import { readCycloneDx } from "./cyclonedx.ts";
import type { ListedPackage } from "./packages.ts";
import { readSpdx } from "./spdx.ts";

/** The packages of a document, sorted and without duplicates. Errors: FeedRefusal. */
export function readSbom(bytes: Uint8Array, unread: Unread): readonly ListedPackage[] {
  const json = parseJson(bytes);
  const { spdxVersion, bomFormat } = Object(json) as Record<string, unknown>;
  if (spdxVersion !== undefined) return readSpdx(json, unread);
  if (bomFormat !== undefined) return readCycloneDx(json, unread);
  throw new FeedRefusal("is neither SPDX 2 nor CycloneDX in JSON");
}
