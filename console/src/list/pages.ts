/** Lists of some resources that are made by hand. The others come from the contract. */
import { lazyRouteComponent } from "@tanstack/react-router";
import type { ComponentType } from "react";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";

/** The list by the type of the resource. */
export const pages: Readonly<Record<string, ComponentType<{ readonly entry: ResourceEntry }>>> = {
  "vulnerabilities.platform.internal/Advisory": lazyRouteComponent(
    () => import("../advisory/list-page.tsx"),
    "AdvisoryList",
  ),
};
