import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { parentOf } from "../../../src/uid.ts";
import { useMethod } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { ReferenceInput } from "../form/reference-input.tsx";
import { ButtonLink } from "../links.tsx";
import { MoreButton } from "../more-button.tsx";
import { usePages } from "../queries.ts";
import type { TabProps } from "../view/tab-props.ts";
import { useFilter } from "../view/use-filter.ts";
import { ExplainDialog } from "./explain.tsx";
import { type Grant, GrantTable } from "./grants.tsx";

/** Who has access to a group, and why. */
export function GroupAccess({ resource }: TabProps) {
  return <Access scope={String(resource.uid)} />;
}

/** Who has access to the group of a role binding, and why. */
export function BindingAccess({ resource }: TabProps) {
  const uid = String(resource.uid);
  return <Access scope={parentOf(uid)} />;
}

function Access({ scope }: { readonly scope: string }) {
  const [{ identity = "" }, change] = useFilter();
  /** The uid of the identity that is explained; "" for one that is chosen there. */
  const [explained, setExplained] = useState<string>();
  return (
    <Stack>
      <Group align="flex-end">
        <ReferenceInput
          w={320}
          label="Only of the identity"
          type="iam.platform.internal/Identity"
          value={identity}
          onChange={(uid) => change({ identity: uid ?? undefined })}
        />
        <Button variant="default" onClick={() => setExplained(identity)}>
          Explain access
        </Button>
        <ButtonLink
          variant="light"
          to="/create/$resource"
          params={{ resource: "role-bindings" }}
          search={{ parent: scope }}
        >
          Bind a role here
        </ButtonLink>
      </Group>
      <Grants scope={scope} identity={identity} explain={setExplained} />
      {explained !== undefined && (
        <ExplainDialog scope={scope} identity={explained} close={() => setExplained(undefined)} />
      )}
    </Stack>
  );
}

interface GrantsProps {
  readonly scope: string;
  readonly identity: string;
  explain(identity: string): void;
}

function Grants({ scope, identity, explain }: GrantsProps) {
  const method = useMethod("platform.access.v1.AccessService", "listAccess");
  const request = { scope, ...(identity !== "" && { identity }) };
  const { pages, error, isPending, refetch, ...list } = usePages(method, request);
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (isPending) return <Skeleton height={200} aria-label="Reading who has access" />;
  const grants = pages.flatMap((page) => (page.grants ?? []) as Grant[]);
  if (grants.length === 0)
    return <Text>{identity === "" ? "Nobody has access. Bind a role here." : "This identity has no role here."}</Text>;
  return (
    <>
      <GrantTable label="Access" grants={grants} explain={explain} />
      <Group>
        <Text size="sm">{`${grants.length} of ${Number(pages.at(-1)?.totalCount ?? grants.length).toLocaleString("en")}`}</Text>
        <MoreButton list={list} />
      </Group>
    </>
  );
}
