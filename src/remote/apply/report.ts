/** What an apply prints: each change with its differences, in the order of the documents, and the summary. */

import { styleText } from "node:util";
import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ProgressLine } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import type { Difference } from "../documents/differences.ts";
import type { Resource } from "../documents/requests.ts";
import { isNested } from "../documents/types.ts";
import { isSecret, secretsOf } from "../print/secrets.ts";

/** What happened to a resource. */
export type Change = "created" | "updated" | "unchanged" | "pruned";

const signs = {
  created: ["+", "green"],
  updated: ["~", "yellow"],
  unchanged: ["=", "dim"],
  pruned: ["-", "red"],
} as const;

/** Prints to standard output, in colours on a terminal. */
export class Report {
  readonly counts = { created: 0, updated: 0, unchanged: 0, pruned: 0, failed: 0, skipped: 0 };
  readonly #blocks = new Map<number, string>();
  readonly #line = new ProgressLine();
  #printed = 0;
  #expected = 0;

  readonly #isQuiet: boolean;

  /** @param isQuiet whether only failures and notes are printed. */
  constructor(isQuiet = false) {
    this.#isQuiet = isQuiet;
    // A reader that closes the pipe ends other commands, but not an apply.
    process.stdout.removeAllListeners("error").on("error", () => {});
  }

  /** Announces so many more changes or failures to come. */
  expect(count: number): void {
    this.#expected += count;
  }

  /** Reports a change. @param position of its document; changes are printed in this order. */
  add(position: number, change: Change, label: string, lines: readonly string[]): void {
    this.counts[change]++;
    const [sign, colour] = signs[change];
    this.#print(
      position,
      change === "unchanged" ? "" : [paint(colour, `${sign} ${printable(label)}`), ...lines, ""].join("\n"),
    );
  }

  /**
   * Reports that a document failed, or was skipped because one that it depends on did. Prints nothing without lines.
   */
  fail(position: number, outcome: "failed" | "skipped", lines: readonly string[]): void {
    this.counts[outcome]++;
    this.#line.clear();
    if (lines.length > 0)
      console.error(`${outcome === "failed" ? "error" : "skipped"}: ${lines.map(printable).join("\n")}`);
    this.#print(position, "");
  }

  /** Prints what is still held back for the order, after a stop. */
  end(): void {
    this.#line.clear();
    for (const [, block] of [...this.#blocks].sort(([a], [b]) => a - b)) process.stdout.write(block);
    this.#blocks.clear();
  }

  /** `created 3, updated 1, unchanged 196, pruned 0`. */
  summary(): string {
    const { failed, skipped, ...others } = this.counts;
    const left = this.#expected - this.#done;
    const shown = {
      ...others,
      ...(failed > 0 && { failed }),
      ...(skipped > 0 && { skipped }),
      ...(left > 0 && { "not attempted": left }),
    };
    return Object.entries(shown)
      .map(([what, count]) => `${what} ${count}`)
      .join(", ");
  }

  /** Prints what is not a failure to standard error. */
  note(text: string): void {
    this.#line.clear();
    console.error(`note: ${printable(text)}`);
  }

  /** Removes the progress from the terminal. */
  endProgress(): void {
    this.#line.clear();
  }

  get #done(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count);
  }

  #print(position: number, block: string): void {
    if (this.#isQuiet) return;
    this.#blocks.set(position, block);
    this.#line.clear();
    for (let text = this.#blocks.get(this.#printed); text !== undefined; text = this.#blocks.get(this.#printed)) {
      if (text !== "") process.stdout.write(text);
      this.#blocks.delete(this.#printed++);
    }
    this.#line.show(() => `${this.#done.toLocaleString("en")} of ${this.#expected.toLocaleString("en")}`);
  }
}

/** The lines of a resource that is created. */
export function creationLines(schema: DescMessage, named: JsonObject): string[] {
  return schema.fields.flatMap((field) => {
    const value = named[field.jsonName];
    return value === undefined || value === null ? [] : [added(`${field.name}: ${shown(redacted(field, value))}`)];
  });
}

/** The lines of what differs. Only the items of a list that differ are shown. */
export function differenceLines(schema: DescMessage, differences: readonly Difference[]): string[] {
  return differences.flatMap(({ path, before, after }) => {
    const field = fieldAt(schema, path);
    const [old, now] = [redacted(field, before), redacted(field, after)];
    const [oldItems, newItems] = [itemsOf(old), itemsOf(now)];
    const gone = oldItems.filter((item) => !newItems.includes(item));
    const come = newItems.filter((item) => !oldItems.includes(item));
    const isOrder = gone.length === 0 && come.length === 0;
    return [
      ...(isOrder ? [shown(old)] : gone).map((text) => removed(`${path}: ${text}`)),
      ...(isOrder ? [shown(now)] : come).map((text) => added(`${path}: ${text}`)),
    ];
  });
}

/** The secrets that only the answer to a creation has. */
export function secretLines(schema: DescMessage, created: Resource): string[] {
  return secretsOf(schema, created).map(({ path, value }) => `    ${path}: ${printable(value)} (not shown again)`);
}

function added(text: string): string {
  return paint("green", `    + ${text}`);
}

function removed(text: string): string {
  return paint("red", `    - ${text}`);
}

function paint(colour: "green" | "yellow" | "red" | "dim", text: string): string {
  return styleText(colour, text, { stream: process.stdout });
}

function itemsOf(value: JsonValue | undefined): string[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.map(shown) : [shown(value)];
}

function shown(value: JsonValue | undefined): string {
  return printable(JSON.stringify(value ?? null));
}

function fieldAt(schema: DescMessage, path: string): DescField {
  const [name, ...below] = path.split(".");
  const field = schema.fields.find((it) => it.name === name)!;
  return below.length === 0 ? field : fieldAt(field.message!, below.join("."));
}

/** A value without the secrets in it. */
function redacted(field: DescField, value: JsonValue | undefined): JsonValue | undefined {
  if (value === undefined || value === null) return value;
  if (isSecret(field)) return "(hidden)";
  if (!isNested(field, value)) return value;
  const fields = new Map(field.message!.fields.map((it) => [it.jsonName, it]));
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [key, redacted(fields.get(key)!, item) ?? null]),
  );
}
