import { Text, TextInput, VisuallyHidden } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useRouter } from "@tanstack/react-router";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { useContract } from "../contract.ts";
import { type Entry, matching, pageEntries } from "./entries.ts";
import { useSearch } from "./search.ts";

/** The content of the dialog that goes to pages, forms and resources: a combobox whose list is always open. */
export function Palette({ close }: { close(): void }) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const [searched] = useDebouncedValue(text.trim(), 200);
  const { found, isLoading } = useSearch(searched);
  const pages = matching(pageEntries(useContract()), text);
  const entries = searched === text.trim() ? [...pages, ...found] : pages;
  const isSearching = searched !== text.trim() || isLoading;
  const { history } = useRouter();
  const id = useId();
  const listId = `${id}-list`;
  const optionId = (index: number) => `${id}-${index}`;

  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []); // the dialog was there before
  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" });
  }, [id, active]);

  const open = ({ path }: Entry) => {
    close();
    history.push(`/console${path}`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = entries.length - 1;
    const moves: Record<string, number> = {
      ArrowDown: active === last ? 0 : active + 1,
      ArrowUp: active === 0 ? last : active - 1,
      PageDown: Math.min(active + 8, last),
      PageUp: Math.max(active - 8, 0),
    };
    const next = moves[event.key];
    if (next === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (next !== undefined) setActive(Math.max(next, 0));
    else if (entries[active] !== undefined) open(entries[active]);
  };
  const status = isSearching ? "Searching" : entries.length === 1 ? "1 result" : `${entries.length} results`;
  return (
    <>
      <TextInput
        ref={input}
        data-autofocus
        aria-label="Page, name or uid"
        placeholder="A page, the name of a resource, or a uid"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? optionId(active) : undefined}
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <VisuallyHidden role="status">{status}</VisuallyHidden>
      <div role="listbox" id={listId} aria-label="Results" className="palette">
        {entries.map((entry, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input, which names the active option
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are those of the input
          <div
            key={entry.path}
            id={optionId(i)}
            role="option"
            aria-selected={i === active}
            onClick={() => open(entry)}
            onMouseMove={() => setActive(i)}
          >
            <span>{entry.label}</span>
            <Text span size="xs" c="dimmed">
              {entry.kind}
            </Text>
          </div>
        ))}
      </div>
      {entries.length === 0 && (
        <Text size="sm" c="dimmed" p="xs">
          {isSearching
            ? "Searching…"
            : "Nothing has this name or uid, or you may not see it. Names are found by their beginning, in their case."}
        </Text>
      )}
    </>
  );
}
