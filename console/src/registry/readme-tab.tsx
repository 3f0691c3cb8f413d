import { Group, Skeleton, Text } from "@mantine/core";
import { useContract } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { ButtonLink } from "../links.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import { useCall } from "../queries.ts";
import type { TabProps } from "../view/tab-props.ts";

/** The readme of a repo, which has the uid of the repo. */
export function ReadmeTab({ entry, resource }: TabProps) {
  const uid = String(resource.uid);
  const readmes = useContract().byPlural.get("repo-readmes")!;
  const { data, error, refetch } = useCall(readmes.methods.Get, { uid });
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Skeleton height={200} aria-label="Reading the readme" />;
  const content = String(data.content ?? "");
  return (
    <>
      {entry !== readmes && (
        <Group justify="flex-end">
          <ButtonLink
            variant="default"
            size="xs"
            to="/edit/$resource/$"
            params={{ resource: readmes.plural, _splat: uid }}
          >
            Edit the readme
          </ButtonLink>
        </Group>
      )}
      {content === "" ? <Text c="dimmed">No readme. Write one in Markdown.</Text> : <Markdown text={content} />}
    </>
  );
}
