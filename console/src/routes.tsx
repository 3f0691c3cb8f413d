import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { HomePage } from "./home-page.tsx";
import { takeCode } from "./invite/code.ts";
import { readListSearch } from "./list/search.ts";
import { NotFound } from "./not-found.tsx";
import { Shell } from "./shell.tsx";
import { readViewSearch } from "./view/search.ts";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const routeTree = root.addChildren([
  createRoute({ getParentRoute: () => root, path: "/", component: HomePage }),
  createRoute({
    getParentRoute: () => root,
    path: "/tree",
    component: lazyRouteComponent(() => import("./tree-page.tsx"), "TreePage"),
    validateSearch: ({ name }: Record<string, unknown>): { name?: string } =>
      name === undefined || name === "" ? {} : { name: String(name) },
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/list/$resource",
    component: lazyRouteComponent(() => import("./list/page.tsx"), "ListPage"),
    validateSearch: readListSearch,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/view/$resource/$",
    component: lazyRouteComponent(() => import("./view/page.tsx"), "ViewPage"),
    validateSearch: readViewSearch,
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/create/$resource",
    component: lazyRouteComponent(() => import("./form/create-page.tsx"), "CreatePage"),
    validateSearch: ({ parent }: Record<string, unknown>): { parent?: string } =>
      typeof parent === "string" ? { parent } : {},
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/edit/$resource/$",
    component: lazyRouteComponent(() => import("./form/edit-page.tsx"), "EditPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/accept",
    component: lazyRouteComponent(() => import("./invite/accept-page.tsx"), "AcceptPage"),
  }),
]);

takeCode(); // before anything else reads the address

/** The pages of the console. Their addresses can be shared: they hold everything but the token. */
export const router = createRouter({ routeTree, basepath: "/console" });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
