import { Button, Group, NativeSelect, Text } from "@mantine/core";

/** Which page is shown, and what changes it. */
export interface PagingProps {
  /** How many results come before the page. */
  readonly at: number;
  readonly count: number;
  readonly total: number;
  readonly size: number;
  readonly hasNext: boolean;
  previous(): void;
  next(): void;
  changeSize(size: number): void;
}

/** Which page is shown, of how many results, and what leads to the others. */
export function Paging({ at, count, total, size, hasNext, previous, next, changeSize }: PagingProps) {
  return (
    <Group justify="space-between" component="nav" aria-label="Pages">
      <Text size="sm" aria-live="polite">
        {count > 0 &&
          `${(at + 1).toLocaleString("en")}–${(at + count).toLocaleString("en")} of ${total.toLocaleString("en")}`}
      </Text>
      <Group gap="xs">
        <NativeSelect
          aria-label="Results on a page"
          size="sm"
          value={String(size)}
          onChange={({ currentTarget }) => changeSize(Number(currentTarget.value))}
          data={["25", "50", "100", "200"].map((value) => ({ value, label: `${value} a page` }))}
        />
        <Button variant="default" disabled={at === 0} onClick={previous}>
          Previous
        </Button>
        <Button variant="default" disabled={!hasNext} onClick={next}>
          Next
        </Button>
      </Group>
    </Group>
  );
}
