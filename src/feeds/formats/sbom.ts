/** A software bill of materials: SPDX or CycloneDX, by what the document says of itself. */
import { FeedRefusal, type Unread } from "../fields.ts";
import { parseJson } from "../parse-record.ts";
import { readCycloneDx } from "./cyclonedx.ts";
import type { ListedPackage } from "./packages.ts";
import { readSpdx } from "./spdx.ts";

/** The packages that a document lists, each once, in an order of our own. Errors: FeedRefusal. */
export function readSbom(bytes: Uint8Array, unread: Unread): readonly ListedPackage[] {
  const json = parseJson(bytes);
  const { spdxVersion, bomFormat } = Object(json) as Record<string, unknown>;
  if (spdxVersion !== undefined) return readSpdx(json, unread);
  if (bomFormat !== undefined) return readCycloneDx(json, unread);
  throw new FeedRefusal("is neither SPDX 2 nor CycloneDX in JSON");
}
