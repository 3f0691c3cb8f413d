/** What is shown of some resources once, after they have been created, beside their fields. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type ComponentType, lazy } from "react";

/** By the type of the resource. */
export const createdNotes: Readonly<Record<string, ComponentType<{ readonly resource: JsonObject }>>> = {
  "iam.platform.internal/GroupInvite": lazy(() => import("../invite/created.tsx")),
};
