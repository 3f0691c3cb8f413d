import { SimpleGrid, Skeleton, Text } from "@mantine/core";
import type { ResourceEntry } from "../../../src/remote/catalog/resources.ts";
import { parentType } from "../../../src/remote/catalog/resources.ts";
import { singularOf, title, useContract } from "../contract.ts";
import { ButtonLink, TextLink } from "../links.tsx";
import { useCall } from "../queries.ts";

/** The resources whose parents are of a type, and that can be listed by them. */
export function contentsOf(type: string, resources: Iterable<ResourceEntry>): readonly ResourceEntry[] {
  return [...resources].filter(
    (entry) => parentType(entry) === type && entry.methods.List?.input.field.uidp !== undefined,
  );
}

/** What is directly in a resource: links to the lists, with how many there are. */
export function Contents({ entry, uid }: { readonly entry: ResourceEntry; readonly uid: string }) {
  const entries = contentsOf(entry.type, useContract().byPlural.values());
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
      {entries.map((inner) => (
        <Count key={inner.type} entry={inner} parent={uid} />
      ))}
    </SimpleGrid>
  );
}

function Count({ entry, parent }: { readonly entry: ResourceEntry; readonly parent: string }) {
  const filter = { uidp: { childrenOf: parent } };
  const { data, error } = useCall(entry.methods.List, { ...filter, pageSize: 1 });
  return (
    <section className="count" aria-label={title(entry.plural)}>
      <TextLink to="/list/$resource" params={{ resource: entry.plural }} search={{ filter }}>
        {title(entry.plural)}
      </TextLink>
      {data === undefined && error === null ? (
        <Skeleton height={14} width={30} />
      ) : (
        <Text span>{error === null ? Number(data?.totalCount ?? 0).toLocaleString("en") : "not readable"}</Text>
      )}
      {entry.methods.Create && (
        <ButtonLink
          size="compact-xs"
          variant="default"
          to="/create/$resource"
          params={{ resource: entry.plural }}
          search={{ parent }}
          aria-label={`Create ${singularOf(entry)} here`}
        >
          Create
        </ButtonLink>
      )}
    </section>
  );
}
