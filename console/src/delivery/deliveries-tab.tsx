import "@mantine/core/styles/Chip.css";
import type { JsonObject } from "@bufbuild/protobuf";
import { Chip, Group, Skeleton, Stack, Text } from "@mantine/core";
import { ErrorPanel } from "../error-panel.tsx";
import { SuggestedInput } from "../form/suggested-input.tsx";
import { MoreButton } from "../more-button.tsx";
import { useCall, usePages } from "../queries.ts";
import type { TabProps } from "../view/tab-props.ts";
import { useFilter } from "../view/use-filter.ts";
import { DeliverySettings } from "./delivery-settings.tsx";
import { DeliveryTable } from "./delivery-table.tsx";
import { useDeliveryMethod } from "./use-delivery-call.ts";

/** The states of deliveries, as people call them. */
const states: Readonly<Record<string, string>> = {
  STATE_PENDING: "Pending",
  STATE_DELIVERED: "Delivered",
  STATE_FAILED: "Failed",
};

/** How long until deliveries that wait are read again. */
const pauseMs = 3000;

/** The deliveries of a subscription, and how they are made. */
export function DeliveriesTab({ resource }: TabProps) {
  const [filter, change] = useFilter();
  const { data: known } = useCall(useDeliveryMethod("listEventTypes"), { pageSize: 200 });
  const types = (known?.eventTypes ?? []) as JsonObject[];
  return (
    <Stack>
      <DeliverySettings subscription={resource} />
      <Group align="flex-end">
        <Chip.Group value={filter.state ?? ""} onChange={(state) => change({ state: String(state) })}>
          <Group gap="xs" role="group" aria-label="State">
            <Chip value="" size="xs" variant="outline">
              Any state
            </Chip>
            {Object.entries(states).map(([value, label]) => (
              <Chip key={value} value={value} size="xs" variant="outline">
                {label}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
        <SuggestedInput
          key={filter.type}
          label="Event type"
          placeholder="dev.platform.api.iam.*"
          suggestions={types.map(({ type }) => String(type))}
          width={380}
          value={filter.type ?? ""}
          choose={(type) => change({ type })}
        />
      </Group>
      <Deliveries subscription={String(resource.uid)} filter={filter} />
    </Stack>
  );
}

interface DeliveriesProps {
  readonly subscription: string;
  readonly filter: Readonly<Record<string, string>>;
}

function Deliveries({ subscription, filter }: DeliveriesProps) {
  const list = usePages(useDeliveryMethod("listDeliveries"), { ...filter, subscription }, (pages) =>
    deliveriesOf(pages).some(({ state }) => state === "STATE_PENDING") ? pauseMs : false,
  );
  if (list.error !== null) return <ErrorPanel error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Skeleton height={200} aria-label="Reading deliveries" />;
  const deliveries = deliveriesOf(list.pages);
  const [first] = list.pages;
  const total = `${Number(first?.totalCount ?? 0).toLocaleString("en")}${first?.estimated === true ? " or more" : ""}`;
  return (
    <>
      {deliveries.length === 0 ? (
        <Text>
          {Object.keys(filter).length > 0
            ? "No deliveries match."
            : "Nothing has happened yet that this subscription receives. Send a test event to try the receiver."}
        </Text>
      ) : (
        <DeliveryTable deliveries={deliveries} />
      )}
      <Group>
        {first?.totalCount !== undefined && <Text size="sm">{`${deliveries.length} of ${total}`}</Text>}
        <MoreButton label="Show older" list={list} />
      </Group>
    </>
  );
}

function deliveriesOf(pages: readonly JsonObject[]): readonly JsonObject[] {
  return pages.flatMap((page) => (page.deliveries ?? []) as JsonObject[]);
}
