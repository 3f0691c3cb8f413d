import { Code, Group, Stack, Text } from "@mantine/core";
import { CopyTextButton } from "../copy.tsx";
import type { CallText } from "./call-text.ts";

/** Texts to copy. */
export function CallTexts({ texts }: { readonly texts: readonly CallText[] }) {
  return (
    <Stack>
      {texts.map(({ program, text }) => (
        <section key={program} aria-label={program}>
          <Group justify="space-between" mb={4}>
            <Text fw={600} size="sm">
              {program}
            </Text>
            <CopyTextButton text={text} size="compact-xs" label={`Copy as ${program}`} />
          </Group>
          <Code block tabIndex={0}>
            {text}
          </Code>
        </section>
      ))}
    </Stack>
  );
}
