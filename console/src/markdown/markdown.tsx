import "./markdown.css";
import { Code, Skeleton, Table, Title, type TitleOrder } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { CatchBoundary } from "@tanstack/react-router";
import { memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import { ForeignLink, safeUrl } from "./foreign-link.tsx";
import { parse } from "./parse.ts";

/**
 * A text in Markdown that others wrote. HTML in it is shown as text, links lead to other pages only and by http, https
 * or mailto, and images are links. Its headings are one level lower, below that of the page.
 */
export function Markdown({ text }: { readonly text: string }) {
  const { data: tree, error } = useQuery({
    queryKey: ["markdown", text],
    queryFn: ({ signal }) => parse(text, signal),
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  });
  if (error !== null) return <Source text={text} />;
  if (tree === undefined) return <Skeleton height={200} aria-label="Rendering" />;
  return (
    <CatchBoundary getResetKey={() => text} errorComponent={() => <Source text={text} />}>
      <Tree tree={tree} />
    </CatchBoundary>
  );
}

/** A text that has been parsed. */
const Tree = memo(({ tree }: { readonly tree: object }) => (
  <div className="markdown">
    <ReactMarkdown rehypePlugins={[() => () => tree as never]} urlTransform={safeUrl} components={components} />
  </div>
));

/** The text as it is written, where it cannot be rendered. */
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
