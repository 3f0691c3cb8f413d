import { Text, Title } from "@mantine/core";
import { TextLink } from "./links.tsx";

/** The page of an address that names nothing. */
export function NotFound() {
  return (
    <>
      <Title order={1} size="h2">
        There is no such page
      </Title>
      <Text mt="sm">
        The address may be mistyped. <TextLink to="/">What there is</TextLink>
      </Text>
    </>
  );
}
