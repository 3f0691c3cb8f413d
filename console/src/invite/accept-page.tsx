import type { JsonObject } from "@bufbuild/protobuf";
import { Button, Group, Paper, Skeleton, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { Named } from "../access/grants.tsx";
import RoleCapabilities from "../access/role-capabilities.tsx";
import { useMethod } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { ButtonLink } from "../links.tsx";
import { useSession } from "../session/session.tsx";
import { forgetCode, takeCode } from "./code.ts";

/** Accepts an invite by its code. */
export function AcceptPage() {
  const { hash } = useLocation();
  const [code, setCode] = useState<string>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another link has been opened in this tab
  useEffect(() => setCode(takeCode()), [hash]);
  const leave = () => {
    forgetCode();
    setCode(undefined);
  };
  return (
    <Stack maw={640}>
      <Title order={1} size="h2">
        Accept an invite
      </Title>
      {code === undefined ? <CodeForm enter={setCode} /> : <Invite key={code} code={code} leave={leave} />}
    </Stack>
  );
}

function CodeForm({ enter }: { enter(code: string): void }) {
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "") enter(text.trim());
  };
  return (
    <form onSubmit={submit}>
      <Stack align="flex-start">
        <TextInput
          w="100%"
          label="Code"
          description="Open the link of the invite, or enter its code here."
          autoComplete="off"
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <Button type="submit" disabled={text.trim() === ""}>
          Continue
        </Button>
      </Stack>
    </form>
  );
}

interface InviteProps {
  readonly code: string;
  /** For another code. */
  leave(): void;
}

/** Shows what is joined, which the server returns without joining it, then joins it. */
function Invite({ code, leave }: InviteProps) {
  const { api } = useSession();
  const queries = useQueryClient();
  const method = useMethod("platform.iam.v2.GroupInvitesService", "acceptGroupInvite");
  const preview = useQuery({
    queryKey: ["invite", code],
    queryFn: ({ signal }) => api.call(method, { code, validateOnly: true }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => api.call(method, { code }),
    onSuccess() {
      forgetCode();
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "invite" });
    },
  });
  if (data !== undefined) return <Joined binding={data} />;
  const problem = error ?? preview.error;
  const roleUid = String(preview.data?.roleUid ?? "");
  return (
    <>
      {problem !== null && <Refused error={problem} />}
      {problem === null && preview.data === undefined && <Skeleton height={160} aria-label="Reading the invite" />}
      {problem === null && preview.data !== undefined && <Preview binding={preview.data} />}
      <Group>
        <Button disabled={preview.data === undefined} loading={isPending} onClick={() => mutate()}>
          Accept
        </Button>
        <Button variant="default" onClick={leave}>
          Use another code
        </Button>
      </Group>
      {problem === null && isBuiltIn(roleUid) && <RoleCapabilities uid={roleUid} />}
    </>
  );
}

function Preview({ binding }: { readonly binding: JsonObject }) {
  const group = binding.group as JsonObject;
  const role = binding.role as JsonObject;
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Text>
          You join <b>{String(group.name)}</b> with the role <b>{String(role.name)}</b>.
        </Text>
        {group.description && <Text size="sm">{String(group.description)}</Text>}
        {role.description && (
          <Text size="sm" c="dimmed">
            {String(role.description)}
          </Text>
        )}
        <SignedInAs />
      </Stack>
    </Paper>
  );
}

/** Whether everybody may read a role. One of a group can be read by those who are in it already. */
function isBuiltIn(roleUid: string): boolean {
  return roleUid !== "" && !roleUid.includes("/");
}

function Refused({ error }: { readonly error: Error }) {
  return (
    <>
      <ErrorPanel error={error} />
      <Text size="sm">
        An invite can have expired or have been used. It can also be for somebody else: for an e-mail address that your
        identity provider has not verified as yours, or for identities of another group. Ask for a new one.
      </Text>
      <SignedInAs />
    </>
  );
}

function SignedInAs() {
  const { claims } = useSession();
  return (
    <Text size="sm" c="dimmed" className="comment">
      {`You are signed in as ${claims.email ?? claims.name ?? claims.sub}.`}
    </Text>
  );
}

function Joined({ binding }: { readonly binding: JsonObject }) {
  const group = binding.group as JsonObject;
  return (
    <Paper withBorder p="md" role="status">
      <Stack align="flex-start">
        <Text className="sentence">
          You are in <Named resource="groups" it={group} /> with the role{" "}
          <Named resource="roles" it={binding.role as JsonObject} />.
        </Text>
        <ButtonLink to="/view/$resource/$" params={{ resource: "groups", _splat: String(group.uid) }}>
          Open the group
        </ButtonLink>
      </Stack>
    </Paper>
  );
}
