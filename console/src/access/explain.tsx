import type { JsonObject } from "@bufbuild/protobuf";
import { Alert, Group, List, Modal, Select, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useMethod } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { ReferenceInput } from "../form/reference-input.tsx";
import { useCall } from "../queries.ts";
import { capabilityLabel, namedCapabilities } from "./capabilities.ts";
import { type Grant, GrantTable, Named } from "./grants.tsx";

interface ExplainProps {
  /** The uid of the group; chosen here if it is "". */
  readonly scope: string;
  /** The uid of the identity; chosen here if it is "". */
  readonly identity: string;
}

/** Explains whether an identity has a capability in a group, and why. */
export function Explain({ scope: givenScope, identity: givenIdentity }: ExplainProps) {
  const [scope, setScope] = useState(givenScope);
  const [identity, setIdentity] = useState(givenIdentity);
  const [capability, setCapability] = useState<string | null>(null);
  const isComplete = scope !== "" && identity !== "" && capability !== null;
  return (
    <Stack>
      {givenIdentity === "" && (
        <ReferenceInput
          label="Identity"
          type="iam.platform.internal/Identity"
          value={identity}
          onChange={(uid) => setIdentity(uid ?? "")}
        />
      )}
      {givenScope === "" && (
        <ReferenceInput
          label="Group"
          type="iam.platform.internal/Group"
          value={scope}
          onChange={(uid) => setScope(uid ?? "")}
        />
      )}
      <Select
        label="Capability"
        placeholder="repo.list"
        searchable
        clearable
        clearButtonProps={{ "aria-label": "Clear Capability" }}
        nothingFoundMessage="No capability has this name"
        data={namedCapabilities}
        value={capability}
        onChange={setCapability}
      />
      {isComplete && <Verdict scope={scope} identity={identity} capability={capability} />}
    </Stack>
  );
}

/** The same in a dialog. */
export function ExplainDialog({ close, ...props }: ExplainProps & { close(): void }) {
  return (
    <Modal
      opened
      onClose={close}
      title="Who may do what, and why"
      size="xl"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Explain {...props} />
    </Modal>
  );
}

/** What verdicts say: a word, and what stands between the identity and the capability. */
const verdicts: Readonly<Record<string, readonly [word: string, sentence: string]>> = {
  VERDICT_ALLOWED: ["Allowed", "has"],
  VERDICT_CONDITIONAL: ["Conditional", "has, if a condition below is met,"],
  VERDICT_DENIED: ["Denied", "does not have"],
};

function Verdict(request: { readonly scope: string; readonly identity: string; readonly capability: string }) {
  const { data, error, isPlaceholderData } = useCall(useMethod("platform.access.v1.AccessService", "explain"), request);
  if (error !== null) return <ErrorPanel error={error} />;
  if (data === undefined || isPlaceholderData) return <Skeleton height={120} aria-label="Reading the explanation" />;
  const [word, sentence] = verdicts[String(data.verdict)] ?? [String(data.verdict), "–"];
  const groups = (data.groups ?? []) as JsonObject[];
  const missing = (data.missing ?? []) as string[];
  const roles = (data.roles ?? []) as JsonObject[];
  const grants = (data.grants ?? []) as Grant[];
  const others = (data.otherGrants ?? []) as Grant[];
  return (
    <Stack gap="sm" aria-live="polite">
      <Alert variant="default" className="sentence" title={word}>
        <Named resource="identities" it={data.identity as JsonObject} /> {sentence}{" "}
        <b>{capabilityLabel(String(data.capability))}</b> at{" "}
        {groups.length > 0 && <Named resource="groups" it={groups.at(-1)!} />}.
        {missing.length > 0 && (
          <List size="sm" mt="xs">
            {missing.map((text) => (
              <List.Item key={text}>{text}</List.Item>
            ))}
          </List>
        )}
      </Alert>
      {grants.length > 0 && <Section title="Granted by" grants={grants} />}
      {roles.length > 0 && (
        <div>
          <Title order={3} size="h5">
            Roles with it that can be bound there
          </Title>
          <Group gap="xs">
            {roles.map((role) => (
              <Text key={String(role.uid)} span size="sm">
                <Named resource="roles" it={role} />
              </Text>
            ))}
          </Group>
        </div>
      )}
      {others.length > 0 && <Section title="Other grants of the identity" grants={others} />}
    </Stack>
  );
}

function Section({ title, grants }: { readonly title: string; readonly grants: readonly Grant[] }) {
  return (
    <div>
      <Title order={3} size="h5">
        {title}
      </Title>
      <GrantTable label={title} grants={grants} />
    </div>
  );
}
