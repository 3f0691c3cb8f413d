/** Text for terminals, and log lines for people: one readable line for each JSON line, with its stack below it. */
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

const styles: Readonly<Record<string, Style>> = { debug: "gray", info: "green", warn: "yellow", error: "red" };

/**
 * The text of a JSON line: local time, level, message, then its fields. Control characters in values are escaped, so
 * that no caller can write to the terminal.
 */
export function textOf(json: string, isColored: boolean): string {
  const { level, time, msg, err, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const styled = (style: Style, text: string) => (isColored ? styleText(style, text, { validateStream: false }) : text);
  const { stack, type: _type, message, ...described } = (err ?? {}) as Record<string, unknown>;
  const error = err === undefined ? {} : { error: message, ...described };
  const { method, code, ms, ...others } = { ...fields, ...error } as Record<string, unknown>;
  const call = [method, code, ms === undefined ? undefined : `${ms} ms`].filter((part) => part !== undefined);
  const parts = [
    styled("gray", localTime(String(time))),
    styled(styles[String(level)] ?? "gray", String(level).toUpperCase().padEnd(5)),
    styled("bold", printable(String(msg))),
    ...call.map((part) => (part === code && code !== "OK" ? styled("yellow", shown(part)) : shown(part))),
    ...Object.entries(others).flatMap(([name, value]) =>
      value === null ? [] : [`${styled("cyan", `${printable(name)}=`)}${quotedIfLong(value)}`],
    ),
  ];
  const below = typeof stack === "string" ? `${styled("gray", stack.split("\n").map(indented).join("\n"))}\n` : "";
  return `${parts.join(" ")}\n${below}`;
}

function localTime(time: string): string {
  const date = new Date(time);
  const digits = (value: number, length = 2) => String(value).padStart(length, "0");
  return `${digits(date.getHours())}:${digits(date.getMinutes())}:${digits(date.getSeconds())}.${digits(date.getMilliseconds(), 3)}`;
}

function indented(line: string): string {
  return `    ${printable(line)}`;
}

function quotedIfLong(value: unknown): string {
  return typeof value === "string" && /[\s"=]|^$/.test(value) ? printable(JSON.stringify(value)) : shown(value);
}

function shown(value: unknown): string {
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}

/** With control characters, line separators, directions of text and what is invisible as escapes. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** {@link printable} with its line breaks. */
export function printableLines(text: string): string {
  return text.replace(/[^\n]+/g, printable);
}
