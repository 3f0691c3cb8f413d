import type { JsonObject } from "@bufbuild/protobuf";
import { Group, Skeleton, Stack, Text } from "@mantine/core";
import { useContract } from "../contract.ts";
import { ErrorPanel } from "../error-panel.tsx";
import { TextLink } from "../links.tsx";
import { type Rating, scoreOf } from "./cvss.ts";
import { useAdvisories } from "./read-advisories.ts";
import { RatingBadge } from "./severity.tsx";
import { statusOf } from "./status.ts";

const ratings: readonly Rating[] = ["Critical", "High", "Medium", "Low", "Negligible", "None", "Unknown"];

/** How many advisories below a group are open, by severity. */
export default function OpenBySeverity({ group }: { readonly group: string }) {
  const entry = useContract().byPlural.get("advisories")!;
  const filter = { uidp: { descendantsOf: group } };
  const { data, error, refetch } = useAdvisories(entry, filter);
  if (error !== null) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Skeleton height={24} maw={400} aria-label="Reading advisories" />;
  const { advisories, total } = data;
  const open = advisories.filter((advisory) => statusOf(advisory)?.phase === "open");
  const counts = Map.groupBy(open, ratingOf);
  return (
    <Stack gap="xs">
      <Group gap="sm">
        {ratings.map((rating) => {
          const count = counts.get(rating)?.length ?? 0;
          return (
            count > 0 && <RatingBadge key={rating} rating={rating} text={`${count.toLocaleString("en")} ${rating}`} />
          );
        })}
        {open.length === 0 && <Text size="sm">{total === 0 ? "There are no advisories." : "None is open."}</Text>}
        {total > 0 && (
          <TextLink to="/list/$resource" params={{ resource: entry.plural }} search={{ filter }} size="sm">
            {`All ${total.toLocaleString("en")} advisories`}
          </TextLink>
        )}
      </Group>
      {advisories.length < total && (
        <Text size="sm" c="dimmed">
          {`Counted from the ${advisories.length.toLocaleString("en")} that were changed last.`}
        </Text>
      )}
    </Stack>
  );
}

/** The severest rating of an advisory. */
function ratingOf({ severities }: JsonObject): Rating {
  const scores = ((severities ?? []) as JsonObject[]).flatMap(({ score }) => scoreOf(String(score)) ?? []);
  return scores.sort((a, b) => b.score - a.score)[0]?.rating ?? "Unknown";
}
