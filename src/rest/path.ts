/**
 * The texts that the variables of a template capture: raw segments, decoded once.
 *
 * A single segment is decoded completely. In a multi-segment capture `%2F` and `%2f` stay as sent, so that an escaped
 * slash differs from a real one (http.proto), unless the host has them decoded too.
 */
import type { Binding, BoundVariable } from "./binding.ts";

/** How `%2F` in a multi-segment capture is treated. */
export type SlashInMultiSegment = "keep" | "decode";

/**
 * The text a variable captured from the segments of a matching path; undefined for malformed escapes, bytes that are
 * not UTF-8, and NUL.
 */
export function captureOf(
  variable: BoundVariable,
  binding: Binding,
  segments: readonly string[],
  slash: SlashInMultiSegment,
): string | undefined {
  const raw = capturedText(variable, binding, segments);
  if (!raw.includes("%")) return raw;
  if (variable.isMultiSegment && slash === "keep") {
    // The separators come out at odd places.
    return joinDefined(raw.split(/(%2[Ff])/).map((part, index) => (index % 2 === 1 ? part : decodeText(part))));
  }
  return decodeText(raw);
}

/** Percent-decodes text; undefined for malformed escapes, bytes that are not UTF-8, and NUL. */
export function decodeText(raw: string): string | undefined {
  try {
    const text = decodeURIComponent(raw);
    return text.includes("\0") || !text.isWellFormed() ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Maps segments of the template to those of the path: `**`, at most one, matches any number. */
function capturedText(variable: BoundVariable, { template }: Binding, segments: readonly string[]): string {
  const surplus = segments.length - template.segments.length;
  const start = variable.start + (variable.start > template.doubleStar ? surplus : 0);
  const end = variable.end + (variable.end > template.doubleStar ? surplus : 0);
  return end - start === 1 ? segments[start]! : segments.slice(start, end).join("/");
}

function joinDefined(parts: readonly (string | undefined)[]): string | undefined {
  return parts.includes(undefined) ? undefined : parts.join("");
}
