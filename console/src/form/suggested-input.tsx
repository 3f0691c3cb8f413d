import { Autocomplete } from "@mantine/core";
import { useState } from "react";

interface SuggestedInputProps {
  readonly label: string;
  readonly placeholder: string;
  readonly suggestions: readonly string[];
  /** What was chosen last; an input with another one needs another `key`. */
  readonly value: string;
  /** Takes what was typed or picked once it is complete; "" when it is cleared. */
  choose(value: string): void;
  /** Width in pixels. */
  readonly width?: number;
}

/** A text with suggestions, of which others than these are taken, too. */
export function SuggestedInput({ label, placeholder, suggestions, value, choose, width }: SuggestedInputProps) {
  const [text, setText] = useState(value);
  const apply = (typed: string) => typed.trim() !== value && choose(typed.trim());
  return (
    <Autocomplete
      w={width}
      label={label}
      placeholder={placeholder}
      limit={50}
      clearable
      clearButtonProps={{ "aria-label": `Clear ${label}` }}
      data={[...suggestions]}
      value={text}
      onChange={setText}
      onOptionSubmit={apply}
      onClear={() => choose("")}
      onBlur={() => apply(text)}
      onKeyDown={({ key }) => key === "Enter" && apply(text)}
    />
  );
}
