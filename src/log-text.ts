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

/**
 * Foreign text on one line of a terminal or of the log of a CI system: control characters, line breaks, directions of
 * text and what is invisible as escapes, and commands of CI systems broken by one (`::error::` of GitHub Actions at the
 * beginning of a line; `##[…]`, `##vso[…]` and `##teamcity[…]` of others wherever they are).
 */
export function printable(text: string): string {
  if (/^[ -"$-9;-~]*$/.test(text)) return text; // nothing of it
  return text
    .replace(unprintable, escapesOf)
    .replace(/^(\s*):(?=:.*::)/, "$1\\u003a")
    .replace(/#(?=#(?:vso|teamcity)?\[)/gi, "\\u0023");
}

/** JSON for a terminal or a log: {@link printable}, and the same value. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).split("\n").map(printable).join("\n");
}

/** All but joiners, which emoji and scripts of India need, and the visible format characters of Arabic and Kaithi. */
const unprintable =
  /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\u200c\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]]/gv;

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escapesOf(character: string): string {
  if (character in short) return short[character]!;
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
