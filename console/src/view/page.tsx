import type { JsonObject } from "@bufbuild/protobuf";
import { Breadcrumbs, Button, Code, Group, Skeleton, Stack, Tabs, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { getRouteApi } from "@tanstack/react-router";
import { Suspense } from "react";
import { parentType, type ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { parentOf } from "../../../src/uid.ts";
import { title, useContract } from "../contract.ts";
import { CopyText, Uid } from "../copy.tsx";
import { ErrorPanel } from "../error-panel.tsx";
import { ButtonLink, displayName, Reference, TextLink } from "../links.tsx";
import { NotFound } from "../not-found.tsx";
import { useCall } from "../queries.ts";
import { callTexts } from "./call-text.ts";
import { CallTexts } from "./call-texts.tsx";
import { Contents, contentsOf } from "./contents.tsx";
import { DeleteDialog } from "./delete-dialog.tsx";
import { FieldList } from "./field-list.tsx";
import { tabs } from "./tabs.ts";

const route = getRouteApi("/view/$resource/$");

/** One resource. */
export function ViewPage() {
  const { resource, _splat: uid = "" } = route.useParams();
  const entry = useContract().byPlural.get(resource);
  return entry?.methods.Get === undefined ? <NotFound /> : <View key={`${resource} ${uid}`} entry={entry} uid={uid} />;
}

function View({ entry, uid }: { readonly entry: ResourceEntry; readonly uid: string }) {
  const request = { uid };
  const { data, error, refetch } = useCall(entry.methods.Get, request);
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (data === undefined)
    return (
      <Stack aria-busy="true">
        <Skeleton height={32} maw={400} />
        <Skeleton height={300} />
      </Stack>
    );
  return <Resource entry={entry} resource={data} request={request} />;
}

interface ResourceProps {
  readonly entry: ResourceEntry;
  readonly resource: JsonObject;
  readonly request: JsonObject;
}

function Resource({ entry, resource, request }: ResourceProps) {
  const contents = contentsOf(entry.type, useContract().byPlural.values());
  const uid = String(resource.uid);
  const name = displayName(entry, resource);
  const own = tabs[entry.type] ?? [];
  const { tab = own[0]?.title ?? "fields" } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Stack>
      <Path entry={entry} uid={uid} />
      <Group justify="space-between">
        <Group gap="sm">
          <Title order={1} size="h2">
            {name}
          </Title>
          <Uid uid={uid} />
          {typeof resource.etag === "string" && (
            <CopyText label="etag" text={resource.etag} shown={`etag ${resource.etag.replace(/^"/, "").slice(0, 8)}`} />
          )}
        </Group>
        <Actions entry={entry} resource={resource} name={name} />
      </Group>
      <Tabs
        value={tab}
        onChange={(next) => void navigate({ to: ".", search: { tab: next! }, replace: true })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {own.map((tab) => (
            <Tabs.Tab key={tab.title} value={tab.title}>
              {tab.title}
            </Tabs.Tab>
          ))}
          <Tabs.Tab value="fields">Fields</Tabs.Tab>
          {contents.length > 0 && <Tabs.Tab value="contents">Contents</Tabs.Tab>}
          <Tabs.Tab value="json">JSON</Tabs.Tab>
          <Tabs.Tab value="call">Copy as</Tabs.Tab>
        </Tabs.List>
        {own.map((tab) => (
          <Tabs.Panel key={tab.title} value={tab.title}>
            <Suspense fallback={<Skeleton height={200} />}>
              <tab.content entry={entry} resource={resource} />
            </Suspense>
          </Tabs.Panel>
        ))}
        <Tabs.Panel value="fields">
          <FieldList entry={entry} resource={resource} />
        </Tabs.Panel>
        <Tabs.Panel value="contents">
          <Contents entry={entry} uid={uid} />
        </Tabs.Panel>
        <Tabs.Panel value="json">
          <Code block tabIndex={0}>
            {JSON.stringify(resource, undefined, 2)}
          </Code>
        </Tabs.Panel>
        <Tabs.Panel value="call">
          <CallTexts texts={callTexts(location.origin, entry.methods.Get!, request)} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

/** Where the resource is: its list, and the resources that it is in. */
function Path({ entry, uid }: { readonly entry: ResourceEntry; readonly uid: string }) {
  const container = parentType(entry);
  const above = parentOf(uid);
  return (
    <Breadcrumbs>
      {entry.methods.List && (
        <TextLink to="/list/$resource" params={{ resource: entry.plural }}>
          {title(entry.plural)}
        </TextLink>
      )}
      {container !== undefined && above !== "" && <Reference type={container} uid={above} />}
    </Breadcrumbs>
  );
}

interface ActionsProps {
  readonly entry: ResourceEntry;
  readonly resource: JsonObject;
  readonly name: string;
}

function Actions({ entry, resource, name }: ActionsProps) {
  const [isDeleting, { open, close }] = useDisclosure(false);
  const navigate = route.useNavigate();
  const { Update, Delete } = entry.methods;
  const leave = () => void navigate({ to: "/list/$resource", params: { resource: entry.plural } });
  return (
    <Group gap="xs">
      {Update && (
        <ButtonLink
          variant="default"
          to="/edit/$resource/$"
          params={{ resource: entry.plural, _splat: String(resource.uid) }}
        >
          Edit
        </ButtonLink>
      )}
      {Delete && (
        <Button variant="light" color="red" onClick={open}>
          Delete
        </Button>
      )}
      {Delete && (
        <DeleteDialog opened={isDeleting} entry={entry} resource={resource} name={name} close={close} leave={leave} />
      )}
    </Group>
  );
}
