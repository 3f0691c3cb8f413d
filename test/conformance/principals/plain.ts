/** Answers and records without what differs between two installations that know the same. */
import { decodeJwt } from "jose";
import type { Json } from "../contract.ts";
import type { Answer } from "./installation.ts";

/** The names of uids in one installation. */
export type Labels = ReadonlyMap<string, string>;

const random = new Set(["etag", "jti", "nextPageToken", "keyId", "version"]);
const tokens = new Set(["token", "access_token"]);
const refreshTokens = new Set(["refreshToken", "refresh_token"]);

/** The text of an answer, with names for uids, decoded tokens, and lists in an order of their own. */
export function plainAnswer({ status, headers, body }: Answer, labels: Labels): string {
  return plain({ status, headers, body }, labels);
}

/**
 * The same of any value. `isSettled`: with what is written after the answer to a call, the times of last use and how
 * tokens describe their users.
 */
export function plain(value: Json, labels: Labels, isSettled = false): string {
  const shown = (value: Json): Json => {
    if (typeof value === "string") return named(value, labels);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value.map(shown);
      return items.every((item) => typeof item === "object" && item !== null)
        ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
        : items;
    }
    const entries = Object.entries(value).flatMap(([name, field]): [string, Json][] => {
      if (field === undefined || random.has(name)) return [];
      if (name === "code" && typeof field === "string" && field.length > 40) return [];
      if (name === "lastSeenTime" && !isSettled) return [];
      if (name === "identity" && typeof (field as Json)?.uid === "string" && !isSettled)
        return [[name, shown((field as Json).uid)]];
      if (refreshTokens.has(name) && typeof field === "string") return [[name, "a refresh token"]];
      if (tokens.has(name) && typeof field === "string") return [[name, shown(claimsOf(field))]];
      return [[name, shown(field)]];
    });
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  };
  return JSON.stringify(shown(value));
}

/** The claims of a token, or that it is something else. */
function claimsOf(token: string): Json {
  return token.split(".").length === 3 ? decodeJwt(token) : "a secret";
}

/** A text with names for uids. What has no name is `~`, below the nearest that has one. */
function named(text: string, labels: Labels): string {
  return text
    .replace(/[0-9a-f]{40}(?:\/[0-9a-f]{16})*/g, (uid) => {
      for (let at = uid; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
        const label = labels.get(at);
        if (label !== undefined) return at === uid ? label : `${label}/~`;
      }
      return uid;
    })
    .replace(/\b[0-9a-f]{16}\b/g, "~");
}
