import { Button } from "@mantine/core";

interface MoreButtonProps {
  /** What `usePages` and `useNameSearch` return. */
  readonly list: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    fetchNextPage(): Promise<unknown>;
  };
  readonly label?: string;
}

/** Reads another page of a list, where there is one. */
export function MoreButton({ list, label = "Show more" }: MoreButtonProps) {
  if (!list.hasNextPage) return null;
  return (
    <Button
      w="fit-content"
      variant="default"
      size="compact-sm"
      loading={list.isFetchingNextPage}
      onClick={() => void list.fetchNextPage()}
    >
      {label}
    </Button>
  );
}
