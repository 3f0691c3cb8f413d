import { Button, Code, CopyButton, Group, Stack, Text } from "@mantine/core";
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
            <CopyButton value={text}>
              {({ copied, copy }) => (
                <Button size="compact-xs" variant="default" onClick={copy} aria-label={`Copy as ${program}`}>
                  {copied ? "Copied" : "Copy"}
                </Button>
              )}
            </CopyButton>
          </Group>
          <Code block tabIndex={0}>
            {text}
          </Code>
        </section>
      ))}
    </Stack>
  );
}
