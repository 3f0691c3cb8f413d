/** Formats a delivery for people: attributes, checks, and the body, with limits. Control characters are escaped. */
import { styleText } from "node:util";
import { printable } from "../../log-text.ts";
import type { Finding, Verdict, WebhookRequest } from "./verify.ts";

/** A delivery and its verification. */
interface AnsweredRequest extends WebhookRequest {
  readonly receiveTime: Date;
  readonly verdict: Verdict;
}

const maxLines = 40;
const maxLineLength = 160;
const labelWidth = 12;
const colours = { verified: "green", refused: "red", unchecked: "yellow" } as const;
/** Attributes to print first. */
const firstAttributes = ["id", "source", "subject", "time", "group"];

/** Lines that end with an empty one. @param isColoured whether to use escape sequences for a terminal. */
export function formatDelivery({ headers, body, receiveTime, verdict }: AnsweredRequest, isColoured: boolean): string {
  const paint = (format: Parameters<typeof styleText>[0], text: string) =>
    isColoured ? styleText(format, text, { validateStream: false }) : text;
  const label = (name: string) => paint("dim", name.padEnd(labelWidth));
  const line = (name: string, value: string) => `  ${label(name)}${cut(printable(value))}`;
  const check = (name: string, { outcome, text }: Finding) =>
    `  ${label(name)}${paint(colours[outcome], outcome)}, ${cut(printable(text))}`;
  const attributes = new Map(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith("ce-") && value !== undefined ? [[name.slice(3), String(value)]] : [],
    ),
  );
  const type = attributes.get("type") ?? "(no type)";
  const names = [...firstAttributes, ...attributes.keys()].filter(
    (name) => attributes.has(name) && !/^(type|specversion)$/.test(name),
  );
  const { status } = verdict;
  return [
    `${paint("dim", receiveTime.toISOString().slice(11, 23))}  ${paint("bold", cut(printable(type)))}  ` +
      paint(status === 200 ? "green" : "red", String(status)),
    ...[...new Set(names)].map((name) => line(name, attributes.get(name)!)),
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
    return text; // not JSON
  }
}

function cut(line: string): string {
  return line.length <= maxLineLength
    ? line
    : `${line.slice(0, maxLineLength)}… ${line.length - maxLineLength} more characters`;
}
