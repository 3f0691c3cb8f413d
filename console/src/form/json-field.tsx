import type { JsonValue } from "@bufbuild/protobuf";
import { Textarea } from "@mantine/core";
import { useState } from "react";
import type { InputProps } from "./input-props.ts";

interface JsonFieldProps extends InputProps {
  readonly value: JsonValue | undefined;
  onChange(value: JsonValue | undefined): void;
}

/** The input of a value that has no input of its own. A text that is not JSON changes nothing. */
export function JsonField({ value, onChange, error, ...props }: JsonFieldProps) {
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, undefined, 2));
  const [isJson, setJson] = useState(true);
  const change = (next: string) => {
    setText(next);
    try {
      onChange(next.trim() === "" ? undefined : JSON.parse(next));
      setJson(true);
    } catch {
      setJson(false);
    }
  };
  return (
    <Textarea
      {...props}
      autosize
      minRows={2}
      maxRows={16}
      placeholder="JSON"
      value={text}
      error={isJson ? error : "must be JSON"}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}
