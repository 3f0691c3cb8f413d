import type { JsonObject } from "@bufbuild/protobuf";
import { Button, Group, Modal, Skeleton, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { PlatformError } from "../../../src/client/index.ts";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { singularOf } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { MessageFields } from "../form/message-fields.tsx";
import { useSession } from "../session/session.tsx";
import { Blockers } from "./blockers.tsx";

interface QuestionProps {
  readonly entry: ResourceEntry;
  readonly resource: JsonObject;
  readonly name: string;
  close(): void;
  /** After the resource has been deleted. */
  leave(): void;
}

/** Asks before a resource is deleted. */
export function DeleteDialog({ opened, ...question }: QuestionProps & { readonly opened: boolean }) {
  const { entry, name, close } = question;
  return (
    <Modal opened={opened} onClose={close} title={`Delete the ${singularOf(entry)} ${name}?`} size="lg">
      <Question {...question} />
    </Modal>
  );
}

/** The server says first whether it would delete the resource, and what blocks that. */
function Question({ entry, resource, name, close, leave }: QuestionProps) {
  const { api } = useSession();
  const queries = useQueryClient();
  const [options, setOptions] = useState<JsonObject>({});
  const method = entry.methods.Delete!;
  const uid = String(resource.uid);
  const request = {
    ...options,
    uid,
    ...(resource.etag !== undefined && method.input.field.etag && { etag: resource.etag }),
  };
  const check = useQuery({
    queryKey: ["delete", entry.type, request],
    queryFn: ({ signal }) => api.call(method, { ...request, validateOnly: true }, signal),
    gcTime: 0,
    staleTime: 0,
  });
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => api.call(method, request),
    onSuccess() {
      notifications.show({ message: `Deleted ${name}`, color: "green" });
      leave();
      void queries.invalidateQueries();
    },
  });
  const problem = error ?? check.error;
  return (
    <Stack>
      <Text size="sm">It cannot be restored.</Text>
      <MessageFields
        fields={method.input.fields.filter((field) => field.name !== "uid")}
        value={options}
        onChange={setOptions}
      />
      {check.isPending && <Skeleton height={60} aria-label="Checking whether it can be deleted" />}
      {problem !== null && <Problem error={problem} entry={entry} uid={uid} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={close} data-autofocus>
          Cancel
        </Button>
        <Button color="red" disabled={!check.isSuccess} loading={isPending} onClick={() => mutate()}>
          {`Delete the ${singularOf(entry)}`}
        </Button>
      </Group>
    </Stack>
  );
}

function Problem({
  error,
  entry,
  uid,
}: {
  readonly error: Error;
  readonly entry: ResourceEntry;
  readonly uid: string;
}) {
  if (!(error instanceof PlatformError) || error.preconditions.length === 0) return <ErrorPanel error={error} />;
  return <Blockers error={error} entry={entry} uid={uid} />;
}
