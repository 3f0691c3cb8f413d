/** The envelope of registry notifications (`notifications/event.go` of distribution). Reads only the fields in use. */

import { parseUnambiguous } from "../codec/index.ts";
import { invalid } from "../errors.ts";

/** One notification. */
export interface Notification {
  readonly id: string;
  readonly timeMs: number;
  /** `push`, `pull`, `delete`, `mount`, or another. */
  readonly action: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string;
  readonly mediaType: string;
  /** HTTP method of the client's request. */
  readonly method: string;
  readonly remoteAddress: string;
  readonly userAgent: string;
  /** URL of the target. */
  readonly location: string;
}

/** The name of their calls in the log, the metrics and the audit log. */
export const notificationMethod = "registry/notifications";

/** Content types of envelopes. */
export const notificationTypes = [
  "application/vnd.docker.distribution.events.v1+json",
  "application/vnd.docker.distribution.events.v2+json",
  "application/json",
];

const maxEvents = 1000;
const maxTextLength = 4096;

/** Parses an envelope. Errors: INVALID_ARGUMENT. */
export function parseNotifications(body: Uint8Array): readonly Notification[] {
  let envelope: unknown;
  try {
    envelope = parseUnambiguous(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw invalid({ field: "", description: "the body is not JSON, or has a member twice" });
  }
  const { events } = Object(envelope) as { events?: unknown };
  if (!Array.isArray(events)) throw invalid({ field: "events", description: "must be a list" });
  if (events.length > maxEvents) throw invalid({ field: "events", description: `must be at most ${maxEvents}` });
  return events.map((event: unknown, i) => parseNotification(event, `events[${i}]`));
}

function parseNotification(event: unknown, path: string): Notification {
  const [{ id, timestamp, action, target, request }] = [Object(event) as Record<string, unknown>];
  const { repository, tag, digest, mediaType, url } = Object(target) as Record<string, unknown>;
  const { addr, method, useragent } = Object(request) as Record<string, unknown>;
  const text = (value: unknown, field: string, isRequired: boolean): string => {
    const isGiven = value !== undefined && value !== null && value !== "";
    if (!isGiven && !isRequired) return "";
    if (typeof value !== "string" || !isGiven || value.length > maxTextLength || !value.isWellFormed())
      throw invalid({ field: `${path}.${field}`, description: "must be a text" });
    return value;
  };
  const timeMs = Date.parse(text(timestamp, "timestamp", true));
  if (Number.isNaN(timeMs)) throw invalid({ field: `${path}.timestamp`, description: "must be a time" });
  const named = {
    tag: text(tag, "target.tag", false) || undefined,
    digest: text(digest, "target.digest", false),
  };
  if (named.digest !== "" && !/^sha256:[0-9a-f]{64}$/.test(named.digest))
    throw invalid({ field: `${path}.target.digest`, description: "must be a SHA-256 digest" });
  if (named.tag === undefined && named.digest === "")
    throw invalid({ field: `${path}.target`, description: "must name a digest or a tag" });
  return {
    id: text(id, "id", true),
    timeMs,
    action: text(action, "action", true),
    repository: text(repository, "target.repository", true),
    ...named,
    mediaType: text(mediaType, "target.mediaType", false),
    method: text(method, "request.method", false),
    remoteAddress: text(addr, "request.addr", false),
    userAgent: text(useragent, "request.useragent", false),
    location: text(url, "target.url", false),
  };
}
