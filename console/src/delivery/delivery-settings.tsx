import type { JsonObject } from "@bufbuild/protobuf";
import { Button, Code, Group, Paper, Skeleton, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { ErrorPanel } from "../error-panel.tsx";
import { ButtonLink } from "../links.tsx";
import { useCall } from "../queries.ts";
import { Time } from "../time.tsx";
import { RotateDialog } from "./rotate-dialog.tsx";
import { useDeliveryCall, useDeliveryMethod } from "./use-delivery-call.ts";

/** Which events a subscription receives, whether it is paused, and what can be done about it. */
export function DeliverySettings({ subscription }: { readonly subscription: JsonObject }) {
  const uid = String(subscription.uid);
  const { data, error, refetch } = useCall(useDeliveryMethod("getDeliverySettings"), { uid });
  const [isRotating, setRotating] = useState(false);
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Skeleton height={100} aria-label="Reading the settings" />;
  return (
    <Paper withBorder p="md" component="section" aria-label="Delivery settings">
      <Stack gap="sm">
        <Text>
          <State subscription={subscription} settings={data} />
        </Text>
        <Text size="sm" component="div">
          Event types: <EventTypes types={(data.eventTypes ?? []) as string[]} />
        </Text>
        {typeof data.formerSecretExpireTime === "string" && Date.parse(data.formerSecretExpireTime) > Date.now() && (
          <Text size="sm">
            The signing secret before the current one ends <Time time={data.formerSecretExpireTime} />.
          </Text>
        )}
        <Group gap="xs">
          <PauseButton uid={uid} isPaused={data.pauseTime !== undefined} />
          <ActionButton
            name="sendTestEvent"
            uid={uid}
            label="Send a test event"
            done={() => "The test event is on its way"}
          />
          <ActionButton
            name="replayFailedDeliveries"
            uid={uid}
            label="Replay all that failed"
            done={({ replayedCount = 0 }) => `${replayedCount} failed deliveries are sent again`}
          />
          <Button variant="default" size="xs" onClick={() => setRotating(true)}>
            Rotate the secret
          </Button>
          <ButtonLink
            variant="default"
            size="xs"
            to="/edit/$resource/$"
            params={{ resource: "delivery-settings", _splat: uid }}
          >
            Choose event types
          </ButtonLink>
        </Group>
      </Stack>
      {isRotating && <RotateDialog uid={uid} close={() => setRotating(false)} />}
    </Paper>
  );
}

function State({ subscription, settings }: { readonly subscription: JsonObject; readonly settings: JsonObject }) {
  if (typeof subscription.disableTime === "string")
    return (
      <>
        Disabled <Time time={subscription.disableTime} />: the receiver answered that it is gone. Create another
        subscription.
      </>
    );
  if (typeof settings.pauseTime === "string")
    return (
      <>
        Paused <Time time={settings.pauseTime} />: its events wait.
      </>
    );
  return "Events are delivered.";
}

function EventTypes({ types }: { readonly types: readonly string[] }) {
  if (types.length === 0) return "all";
  return types.map((type) => (
    <Code key={type} mr={4}>
      {type}
    </Code>
  ));
}

function PauseButton({ uid, isPaused }: { readonly uid: string; readonly isPaused: boolean }) {
  const pause = useDeliveryCall("pauseSubscription", () => "Paused: events wait from now on");
  const resume = useDeliveryCall("resumeSubscription", () => "Resumed: what waited is sent now");
  const { mutate, isPending } = isPaused ? resume : pause;
  return (
    <Button variant="default" size="xs" loading={isPending} onClick={() => mutate({ uid })}>
      {isPaused ? "Resume" : "Pause"}
    </Button>
  );
}

interface ActionButtonProps {
  readonly name: string;
  readonly uid: string;
  readonly label: string;
  done(answer: JsonObject): string;
}

function ActionButton({ name, uid, label, done }: ActionButtonProps) {
  const { mutate, isPending } = useDeliveryCall(name, done);
  return (
    <Button variant="default" size="xs" loading={isPending} onClick={() => mutate({ subscription: uid })}>
      {label}
    </Button>
  );
}
