import { Button, Code, Group, Modal, Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { CopyTextButton } from "../copy.tsx";
import { useDeliveryCall } from "./use-delivery-call.ts";

const overlaps = [
  { value: "0s", label: "not at all" },
  { value: "3600s", label: "for an hour" },
  { value: "86400s", label: "for a day" },
  { value: "604800s", label: "for a week" },
];

/** Gives a subscription another signing secret, and shows it once. */
export function RotateDialog({ uid, close }: { readonly uid: string; close(): void }) {
  const [overlap, setOverlap] = useState("86400s");
  const { mutate, data, isPending } = useDeliveryCall("rotateSigningSecret");
  const secret = data?.signingSecret;
  return (
    <Modal opened onClose={close} title="Rotate the signing secret" size="lg">
      {typeof secret === "string" ? (
        <Stack>
          <Text size="sm">Store the new secret in the receiver now. It is not shown again.</Text>
          <Code block tabIndex={0}>
            {secret}
          </Code>
          <Group justify="flex-end">
            <CopyTextButton text={secret} />
            <Button onClick={close}>Done</Button>
          </Group>
        </Stack>
      ) : (
        <Stack>
          <Text size="sm">
            Deliveries are signed with a new secret at once. Meanwhile they can carry a signature with the current one,
            too, until the receiver knows the new one.
          </Text>
          <Select
            label="The current secret also signs"
            data={overlaps}
            value={overlap}
            allowDeselect={false}
            onChange={(value) => setOverlap(value!)}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close} data-autofocus>
              Cancel
            </Button>
            <Button loading={isPending} onClick={() => mutate({ uid, overlap })}>
              Rotate
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
