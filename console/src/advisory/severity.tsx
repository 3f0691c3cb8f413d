import "./severity.css";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Rating, type Score, scoreOf } from "./cvss.ts";

/** How severe something is, in words and a colour. */
export function RatingBadge({ rating, text = rating }: { readonly rating: Rating; readonly text?: string }) {
  return (
    <span className="severity" data-rating={rating}>
      {text}
    </span>
  );
}

/** A rating of a vulnerability, a message Severity in JSON: its score and rating, with its vector on hover. */
export function SeverityBadge({ severity }: { readonly severity: JsonObject }) {
  const vector = String(severity.score ?? "");
  const score = scoreOf(vector);
  return (
    <span title={vector}>
      {score === undefined ? (
        <RatingBadge rating="Unknown" text={`CVSS ${/^CVSS:([\d.]+)/.exec(vector)?.[1] ?? ""}`.trim()} />
      ) : (
        <RatingBadge rating={score.rating} text={`${score.rating} ${score.score.toFixed(1)}`} />
      )}
    </span>
  );
}

/** The severest of ratings; those whose score cannot be computed come last. */
export function SeverestBadge({ severities }: { readonly severities: JsonValue | undefined }) {
  const all = (severities ?? []) as JsonObject[];
  const scored = (severity: JsonObject): Score["score"] => scoreOf(String(severity.score))?.score ?? -1;
  const [severest] = all.toSorted((a, b) => scored(b) - scored(a));
  return severest === undefined ? (
    <span title="No rating has been imported">–</span>
  ) : (
    <SeverityBadge severity={severest} />
  );
}
