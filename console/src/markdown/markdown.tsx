import "./markdown.css";
import { Code, Table, Title, type TitleOrder } from "@mantine/core";
import { CatchBoundary } from "@tanstack/react-router";
import type { ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { ForeignLink, safeUrl } from "./foreign-link.tsx";

/**
 * A text in Markdown that others wrote. HTML in it is shown as text, links lead to other pages only and by http, https
 * or mailto, and images are links. Its headings are one level lower, below that of the page.
 */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <CatchBoundary getResetKey={() => text} errorComponent={() => <Source text={text} />}>
      <div className="markdown">
        <ReactMarkdown remarkPlugins={plugins} urlTransform={safeUrl} components={components}>
          {text}
        </ReactMarkdown>
      </div>
    </CatchBoundary>
  );
}

const plugins = [remarkGfm];

/** The text as it is written, where it cannot be rendered, such as one that is nested too deeply. */
function Source({ text }: { readonly text: string }) {
  return (
    <Code block tabIndex={0} aria-label="Source">
      {text}
    </Code>
  );
}

/** A heading, one level lower. */
function heading(order: TitleOrder) {
  return ({ children }: { readonly children?: ReactNode }) => (
    <Title order={order} size={`h${order}`} mt="md" mb="xs">
      {children}
    </Title>
  );
}

const components: Components = {
  h1: heading(2),
  h2: heading(3),
  h3: heading(4),
  h4: heading(5),
  h5: heading(6),
  h6: heading(6),
  a: ({ href, title, children }) => (
    <ForeignLink href={href} title={title}>
      {children}
    </ForeignLink>
  ),
  img: ({ src, alt, title }) => (
    <ForeignLink href={String(src ?? "")} title={title}>
      {alt || "Image"}
    </ForeignLink>
  ),
  pre: ({ children }) => (
    <Code block tabIndex={0}>
      {children}
    </Code>
  ),
  table: ({ children }) => (
    <Table.ScrollContainer minWidth={0} type="native" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </Table.ScrollContainer>
  ),
  // The boxes of a task list.
  input: ({ checked }) => (
    <span role="img" aria-label={checked ? "done" : "open"}>
      {checked ? "☑" : "☐"}
    </span>
  ),
};
