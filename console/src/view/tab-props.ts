import type { JsonObject } from "@bufbuild/protobuf";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";

/** What a tab shows. */
export interface TabProps {
  readonly entry: ResourceEntry;
  readonly resource: JsonObject;
}
