/** Tabs of the pages of some resources that are made by hand. The others come from the contract. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type ComponentType, lazy } from "react";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";

/** What a tab shows. */
export interface TabProps {
  readonly entry: ResourceEntry;
  readonly resource: JsonObject;
}

/** A tab before those that every resource has. */
export interface Tab {
  /** What is written on it. */
  readonly title: string;
  readonly content: ComponentType<TabProps>;
}

const GroupOverview = lazy(async () => ({ default: (await import("../group/overview.tsx")).GroupOverview }));
const GroupAccess = lazy(async () => ({ default: (await import("../access/group-access.tsx")).GroupAccess }));
const BindingAccess = lazy(async () => ({ default: (await import("../access/group-access.tsx")).BindingAccess }));
const IdentityAccess = lazy(async () => ({ default: (await import("../access/identity-access.tsx")).IdentityAccess }));
const GroupAudit = lazy(async () => ({ default: (await import("../audit/group-audit.tsx")).GroupAudit }));

/** The tabs by the type of the resource, in their order: the first one is open. */
export const tabs: Readonly<Record<string, readonly Tab[]>> = {
  "iam.platform.internal/Group": [
    { title: "Overview", content: GroupOverview },
    { title: "Access", content: GroupAccess },
    { title: "Audit", content: GroupAudit },
  ],
  "iam.platform.internal/Identity": [{ title: "Access", content: IdentityAccess }],
  "iam.platform.internal/RoleBinding": [{ title: "Access", content: BindingAccess }],
};
