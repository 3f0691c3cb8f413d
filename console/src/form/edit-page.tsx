import type { JsonObject } from "@bufbuild/protobuf";
import { Skeleton, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { PlatformError } from "../../../src/client/index.ts";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { singularOf, useContract } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { displayName } from "../links.tsx";
import { NotFound } from "../not-found.tsx";
import { callKey } from "../queries.ts";
import { useSession } from "../session/session.tsx";
import type { Draft } from "./drafts.ts";
import { changedFields, ResourceForm, resourceField } from "./resource-form.tsx";

const route = getRouteApi("/edit/$resource/$");

/** Changes a resource. */
export function EditPage() {
  const { resource, _splat: uid = "" } = route.useParams();
  const entry = useContract().byPlural.get(resource);
  if (entry?.methods.Get === undefined || entry.methods.Update === undefined) return <NotFound />;
  return <Edit key={uid} entry={entry} uid={uid} />;
}

function Edit({ entry, uid }: { readonly entry: ResourceEntry; readonly uid: string }) {
  const { api } = useSession();
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const router = useRouter();
  const { Get, Update } = entry.methods;
  // Read once: what somebody edits does not change under them. The etag shows whether it has changed meanwhile.
  const { data, error, refetch } = useQuery({
    queryKey: ["edit", entry.type, uid],
    queryFn: ({ signal }) => api.call(Get!, { uid }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const params = { resource: entry.plural, _splat: uid };
  const leave = () => void navigate({ to: "/view/$resource/$", params });
  /** Whether that page is shown, or is being loaded. */
  const isAt = (page: "edit" | "view") =>
    router.latestLocation.pathname === router.buildLocation({ to: `/${page}/$resource/$`, params }).pathname;

  async function send({ request, resource }: Draft, before: JsonObject) {
    const mask = changedFields(entry.schema.fields, before, resource);
    if (mask.length > 0) {
      const updateMask = mask.map((name) => entry.schema.fields.find((field) => field.name === name)!.jsonName).join();
      const update = { ...request, [resourceField(Update!, entry).jsonName]: resource, updateMask };
      await api.call(Update!, update);
      void queries.invalidateQueries();
      notifications.show({ message: `Saved the ${singularOf(entry)}`, color: "green" });
    }
    return () => isAt("edit") && leave();
  }

  /** Shows the resource as it will be. Returns what takes that back. */
  function preview({ resource }: Draft) {
    const key = callKey(Get, { uid });
    queries.setQueryData(key, resource);
    leave();
    return (reason: Error) => {
      void queries.resetQueries({ queryKey: key });
      const message = reason instanceof PlatformError ? reason.rawMessage : reason.message;
      notifications.show({ title: `The ${singularOf(entry)} is not saved`, message, color: "red" });
      if (isAt("view")) void navigate({ to: "/edit/$resource/$", params, replace: true });
    };
  }

  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (data === undefined)
    return (
      <Stack maw={720} aria-busy="true">
        <Skeleton height={32} />
        <Skeleton height={200} />
      </Stack>
    );
  return (
    <>
      <Title order={1} size="h2">{`Edit ${displayName(entry, data)}`}</Title>
      <Text c="dimmed" size="sm" mb="md">
        Only the fields that you change are sent, and only while nobody else has changed them.
      </Text>
      <ResourceForm
        entry={entry}
        method={Update!}
        initial={{ request: {}, resource: data }}
        isUpdate
        action="Save"
        send={(draft) => send(draft, data)}
        preview={preview}
        cancel={leave}
      />
    </>
  );
}
