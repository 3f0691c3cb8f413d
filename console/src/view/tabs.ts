/** Tabs of the pages of some resources that are made by hand. The others come from the contract. */
import { lazyRouteComponent } from "@tanstack/react-router";
import type { ComponentType } from "react";
import type { TabProps } from "./tab-props.ts";

/** A tab before those that every resource has. */
export interface Tab {
  /** What is written on it. */
  readonly title: string;
  readonly content: ComponentType<TabProps>;
}

/** The tabs by the type of the resource, in their order: the first one is open. */
export const tabs: Readonly<Record<string, readonly Tab[]>> = {
  "advisory.platform.internal/Document": [
    { title: "Advisories", content: lazyRouteComponent(() => import("../advisory/document-tab.tsx"), "DocumentTab") },
  ],
  "advisory.platform.internal/VulnerabilityMetadata": [
    {
      title: "Overview",
      content: lazyRouteComponent(() => import("../advisory/vulnerability-tab.tsx"), "VulnerabilityTab"),
    },
  ],
  "events.platform.internal/Subscription": [
    {
      title: "Deliveries",
      content: lazyRouteComponent(() => import("../delivery/deliveries-tab.tsx"), "DeliveriesTab"),
    },
  ],
  "iam.platform.internal/Group": [
    { title: "Overview", content: lazyRouteComponent(() => import("../group/overview.tsx"), "GroupOverview") },
    { title: "Access", content: lazyRouteComponent(() => import("../access/group-access.tsx"), "GroupAccess") },
    { title: "Audit", content: lazyRouteComponent(() => import("../audit/group-audit.tsx"), "GroupAudit") },
  ],
  "iam.platform.internal/GroupInvite": [
    { title: "Invite", content: lazyRouteComponent(() => import("../invite/invite-tab.tsx"), "InviteTab") },
  ],
  "iam.platform.internal/Identity": [
    { title: "Access", content: lazyRouteComponent(() => import("../access/identity-access.tsx"), "IdentityAccess") },
  ],
  "iam.platform.internal/RoleBinding": [
    { title: "Access", content: lazyRouteComponent(() => import("../access/group-access.tsx"), "BindingAccess") },
  ],
  "registry.platform.internal/Repo": [
    { title: "Tags", content: lazyRouteComponent(() => import("../registry/tags-tab.tsx"), "TagsTab") },
    { title: "Readme", content: lazyRouteComponent(() => import("../registry/readme-tab.tsx"), "ReadmeTab") },
  ],
  "registry.platform.internal/RepoReadme": [
    { title: "Readme", content: lazyRouteComponent(() => import("../registry/readme-tab.tsx"), "ReadmeTab") },
  ],
  "registry.platform.internal/Tag": [
    { title: "Image", content: lazyRouteComponent(() => import("../registry/image-tab.tsx"), "ImageTab") },
  ],
  "vulnerabilities.platform.internal/Advisory": [
    { title: "Overview", content: lazyRouteComponent(() => import("../advisory/advisory-tab.tsx"), "AdvisoryTab") },
  ],
};
