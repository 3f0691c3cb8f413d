import { Title } from "@mantine/core";
import type { ReactNode } from "react";

/** A part of a page with its heading. */
export function Section({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <section aria-label={name}>
      <Title order={2} size="h4" mb="xs">
        {name}
      </Title>
      {children}
    </section>
  );
}
