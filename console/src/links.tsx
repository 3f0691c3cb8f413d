import type { JsonObject } from "@bufbuild/protobuf";
import { Anchor, type AnchorProps, Button, type ButtonProps, NavLink, type NavLinkProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentProps, ReactNode } from "react";
import type { ResourceEntry } from "../../src/remote/catalog/resources.ts";
import { nameField, useContract } from "./contract.ts";
import { shortUid } from "./copy.tsx";
import { useName } from "./queries.ts";

/** A link in a text. */
export const TextLink = createLink((props: AnchorProps & ComponentProps<"a">) => (
  <Anchor inherit {...(props as AnchorProps)} />
));

/** A link to the page of a resource. `resource`: its plural name. */
export function ViewLink({ resource, uid, ...props }: ViewLinkProps) {
  return <TextLink to="/view/$resource/$" params={{ resource, _splat: uid }} {...props} />;
}

interface ViewLinkProps extends Omit<AnchorProps, "style"> {
  readonly resource: string;
  readonly uid: string;
  readonly title?: string;
  readonly children: ReactNode;
}

/** A link that looks like a button. */
export const ButtonLink = createLink((props: ButtonProps & ComponentProps<"a">) => (
  <Button component="a" {...(props as ButtonProps)} />
));

/** A link of the navigation. */
export const NavigationLink = createLink((props: NavLinkProps & ComponentProps<"a">) => (
  <NavLink component="a" {...(props as NavLinkProps)} />
));

/** A resource that a uid refers to, by its name where that can be read. */
export function Reference({ type, uid }: { readonly type: string | undefined; readonly uid: string }) {
  const entry = useContract().byType.get(type ?? "");
  const name = useName(type, uid);
  const text = name ?? <span className="uid">{shortUid(uid)}</span>;
  if (entry?.methods.Get === undefined) return text;
  return (
    <ViewLink resource={entry.plural} uid={uid} title={uid}>
      {text}
    </ViewLink>
  );
}

/** What a resource is called: its name, or the last digits of its uid. */
export function displayName(entry: ResourceEntry, resource: JsonObject): string {
  return String(resource[nameField(entry)?.jsonName ?? ""] ?? shortUid(String(resource.uid)));
}
