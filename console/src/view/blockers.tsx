import type { JsonObject } from "@bufbuild/protobuf";
import { Alert, List, Text } from "@mantine/core";
import type { PlatformError } from "../../../src/client/index.ts";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { referenceType, title, useContract } from "../contract.ts";
import { shortUid } from "../copy.tsx";
import { displayName, TextLink, ViewLink } from "../links.tsx";
import { itemsOf, useCall } from "../queries.ts";
import { contentsOf } from "./contents.tsx";

interface BlockersProps {
  readonly error: PlatformError;
  readonly entry: ResourceEntry;
  readonly uid: string;
}

/** Why a resource cannot be deleted, with links to what is in it and to what refers to it. */
export function Blockers({ error, entry, uid }: BlockersProps) {
  const resources = [...useContract().byPlural.values()];
  const within = contentsOf(entry.type, resources).map((inner) => ({
    entry: inner,
    filter: { uidp: { descendantsOf: uid } },
  }));
  return (
    <Alert role="alert" variant="default" className="notice" title="It cannot be deleted yet">
      <List size="sm" mb="sm">
        {error.preconditions.map(({ type, subject, description }) => (
          <List.Item key={`${type} ${subject} ${description}`}>
            {description} <span className="uid">{subject !== uid && shortUid(subject)}</span>
          </List.Item>
        ))}
      </List>
      {[...within, ...referencesTo(entry.type, uid, resources)].map((found) => (
        <Some key={found.entry.plural} {...found} />
      ))}
    </Alert>
  );
}

/** Resources of one type, and the filter that finds them. */
interface Found {
  readonly entry: ResourceEntry;
  readonly filter: JsonObject;
}

/** The resources that can be listed by what they refer to. */
function referencesTo(type: string, uid: string, resources: readonly ResourceEntry[]): Found[] {
  return resources.flatMap((entry) => {
    const field = entry.methods.List?.input.fields.find((it) => referenceType(it) === type);
    return field === undefined || entry.methods.Get === undefined
      ? []
      : [{ entry, filter: { [field.jsonName]: field.fieldKind === "list" ? [uid] : uid } }];
  });
}

const maxShown = 5;

/** The first resources of a type, and a link to all. */
function Some({ entry, filter }: Found) {
  const { data } = useCall(entry.methods.List, { ...filter, pageSize: maxShown });
  const items = itemsOf(entry, data);
  if (items.length === 0) return null;
  const total = Number(data?.totalCount ?? items.length);
  return (
    <Text size="sm">
      <TextLink underline="always" to="/list/$resource" params={{ resource: entry.plural }} search={{ filter }}>
        {title(entry.plural)}
      </TextLink>
      {": "}
      {items.map((item, i) => (
        <span key={String(item.uid)}>
          {i > 0 && ", "}
          <ViewLink resource={entry.plural} uid={String(item.uid)} underline="always">
            {displayName(entry, item)}
          </ViewLink>
        </span>
      ))}
      {total > items.length && ` and ${(total - items.length).toLocaleString("en")} more`}
    </Text>
  );
}
