/** A delivery as a person reads it: attributes, checks, and the body, bounded. What a sender wrote cannot steer a terminal. */
import { styleText } from "node:util";
import type { Delivery, Finding, Verdict } from "./events-verify.ts";

/** A delivery and what was answered. */
export interface Answered extends Delivery {
  readonly receiveTime: Date;
  readonly verdict: Verdict;
}

const maxLines = 40;
const maxLineLength = 160;
const labelWidth = 12;
const colours = { verified: "green", refused: "red", unchecked: "yellow" } as const;
/** Attributes in the order in which they are read; those not named here follow. */
const attributes = ["id", "source", "subject", "time", "group"];

/** A block of lines that ends with an empty one. `isColoured`: with escape sequences for a terminal. */
export function formatDelivery({ headers, body, receiveTime, verdict }: Answered, isColoured: boolean): string {
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    isColoured ? styleText(format, text, { validateStream: false }) : text;
  const label = (name: string) => paint("dim", name.padEnd(labelWidth));
  const line = (name: string, value: string) => `  ${label(name)}${cut(printable(value))}`;
  const check = (name: string, { outcome, text }: Finding) =>
    `  ${label(name)}${paint(colours[outcome], outcome)}, ${cut(printable(text))}`;
  const said = new Map(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith("ce-") && value !== undefined ? [[name.slice(3), String(value)]] : [],
    ),
  );
  const type = said.get("type") ?? "(no type)";
  const shown = [...attributes, ...said.keys()].filter((name) => said.has(name) && !/^(type|specversion)$/.test(name));
  const { status } = verdict;
  return [
    `${paint("dim", receiveTime.toISOString().slice(11, 23))}  ${paint("bold", cut(printable(type)))}  ` +
      paint(status === 200 ? "green" : "red", String(status)),
    ...[...new Set(shown)].map((name) => line(name, said.get(name)!)),
    check("event", verdict.event),
    check("token", verdict.token),
    check("signature", verdict.signature),
    ...bodyLines(body).map((text) => `  ${paint("dim", "|")} ${text}`),
    "",
    "",
  ].join("\n");
}

function bodyLines(body: Buffer): string[] {
  const text = body.toString("utf8");
  const lines = pretty(text)
    .split("\n")
    .map((line) => cut(printable(line)));
  if (lines.length <= maxLines) return lines;
  return [...lines.slice(0, maxLines), `… ${lines.length - maxLines} more lines`];
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text; // no JSON: as it came
  }
}

function cut(line: string): string {
  return line.length <= maxLineLength
    ? line
    : `${line.slice(0, maxLineLength)}… ${line.length - maxLineLength} more characters`;
}

/** Escapes what a terminal would obey, or hide. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (mark) => `\\u{${mark.codePointAt(0)!.toString(16)}}`);
}
