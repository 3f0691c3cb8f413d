import { Anchor, Card, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { title, useContract } from "./contract.ts";
import { TextLink } from "./links.tsx";

/** The first page: every resource that can be listed. */
export function HomePage() {
  const { domains } = useContract();
  return (
    <>
      <Title order={1} size="h2">
        Platform API
      </Title>
      <Text c="dimmed" mb="lg" className="comment">
        Begin with the{" "}
        <TextLink to="/tree" underline="always">
          group tree
        </TextLink>
        , or with a resource. Lists show what you may see. The{" "}
        <Anchor href="/docs" underline="always">
          API reference
        </Anchor>{" "}
        describes every operation.
      </Text>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {domains.map((domain) => (
          <Card key={domain.title} withBorder component="section" aria-label={domain.title}>
            <Title order={2} size="h4" mb="xs">
              {domain.title}
            </Title>
            <Stack gap={6}>
              {domain.resources.map(({ plural }) => (
                <TextLink key={plural} to="/list/$resource" params={{ resource: plural }}>
                  {title(plural)}
                </TextLink>
              ))}
            </Stack>
          </Card>
        ))}
      </SimpleGrid>
    </>
  );
}
