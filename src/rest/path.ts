/**
 * What the variables of a template captured: a run of raw segments, decoded once.
 *
 * A single segment is decoded completely. In a multi-segment capture `%2F` and `%2f` stay as sent, so that an escaped
 * slash can be told from a real one (http.proto), unless the host asks for them to be decoded too.
 */
import type { Binding, BoundVariable } from "./binding.ts";

/** What becomes of `%2F` in a multi-segment capture. */
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
  const raw = capturedSegments(variable, binding, segments).join("/");
  if (!raw.includes("%")) {
    return raw;
  }
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

/** Segments of the template and of the path differ in number by what `**` matched, which stands at most once. */
function capturedSegments(variable: BoundVariable, binding: Binding, segments: readonly string[]): readonly string[] {
  const surplus = segments.length - binding.template.segments.length;
  const doubleStar = binding.template.segments.findIndex(({ kind }) => kind === "**");
  const shift = (index: number) => (doubleStar >= 0 && index > doubleStar ? index + surplus : index);
  return segments.slice(shift(variable.start), shift(variable.end));
}

function joinDefined(parts: readonly (string | undefined)[]): string | undefined {
  return parts.includes(undefined) ? undefined : parts.join("");
}
