import { Anchor } from "@mantine/core";
import type { ReactNode } from "react";

/** An address that others wrote; "" unless it is by http, https or mailto. */
export function safeUrl(url: string): string {
  return /^(https?:\/\/|mailto:)/i.test(url) ? url : "";
}

interface ForeignLinkProps {
  readonly href: string | undefined;
  readonly title?: string | undefined;
  readonly children: ReactNode;
}

/** A link that others wrote; a text unless its address is by http, https or mailto. */
export function ForeignLink({ href = "", title, children }: ForeignLinkProps) {
  const url = safeUrl(href);
  if (url === "") return <span title={title}>{children}</span>;
  return (
    <Anchor inherit href={url} title={title} rel="noreferrer nofollow noopener" target="_blank" underline="always">
      {children}
    </Anchor>
  );
}
