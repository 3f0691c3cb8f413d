import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { Alert, Skeleton, Stack, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { singularOf, useContract } from "../contract.ts";
import { ButtonLink } from "../links.tsx";
import { NotFound } from "../not-found.tsx";
import { useSession } from "../session/session.tsx";
import { FieldList } from "../view/field-list.tsx";
import { createdNotes } from "./created.ts";
import type { Draft } from "./drafts.ts";
import { ResourceForm, resourceField, withArticle } from "./resource-form.tsx";

const route = getRouteApi("/create/$resource");

/** Creates a resource. */
export function CreatePage() {
  const { resource } = route.useParams();
  const entry = useContract().byPlural.get(resource);
  const method = entry?.methods.Create;
  return method === undefined ? <NotFound /> : <Create key={resource} entry={entry!} method={method} />;
}

function Create({ entry, method }: { readonly entry: ResourceEntry; readonly method: DescMethod }) {
  const { api } = useSession();
  const { parent } = route.useSearch();
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const { history } = useRouter();
  /** The resource, with values that the server shows only once. */
  const [created, setCreated] = useState<JsonObject>();

  async function send({ request, resource }: Draft) {
    const made = await api.call(method, { ...request, [resourceField(method, entry).jsonName]: resource });
    const uid = String(made.uid);
    const kept = entry.methods.Get && (await api.call(entry.methods.Get, { uid }));
    void queries.invalidateQueries();
    notifications.show({ message: `Created the ${singularOf(entry)}`, color: "green" });
    const isKept = kept !== undefined && Object.keys(made).every((name) => kept[name] !== undefined);
    if (!isKept)
      return () => {
        setCreated(made);
        scrollTo(0, 0);
      };
    return () => void navigate({ to: "/view/$resource/$", params: { resource: entry.plural, _splat: uid } });
  }

  const Note = createdNotes[entry.type];
  if (created !== undefined)
    return (
      <Stack>
        <Title order={1} size="h2">{`Created ${withArticle(entry)}`}</Title>
        <Alert variant="default" className="notice" title="Some of these values are shown only now">
          Copy what you need before you leave this page.
        </Alert>
        {Note && (
          <Suspense fallback={<Skeleton height={220} />}>
            <Note resource={created} />
          </Suspense>
        )}
        <FieldList entry={entry} resource={created} />
        <ButtonLink
          w="fit-content"
          to="/view/$resource/$"
          params={{ resource: entry.plural, _splat: String(created.uid) }}
        >
          {`Open the ${singularOf(entry)}`}
        </ButtonLink>
      </Stack>
    );
  return (
    <>
      <Title order={1} size="h2" mb="md">{`Create ${withArticle(entry)}`}</Title>
      <ResourceForm
        entry={entry}
        method={method}
        initial={{ request: parent === undefined ? {} : { parent }, resource: {} }}
        action="Create"
        send={send}
        cancel={() => history.back()}
      />
    </>
  );
}
