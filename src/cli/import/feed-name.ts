/** Names of feeds: given by the operator, or derived from the location. */
import { resolve } from "node:path";
import { CommandFailure } from "../../command/index.ts";
import { apiFeed } from "../../services/index.ts";

const maxLength = 255;
/** One line of text without commas, which separate names. */
const shape = /^[^\p{C},]+$/u;

/**
 * The name of a feed: the given name, or the host and path of a URL, without the parts that may contain a secret, or
 * the absolute path of a file or directory. A long derived name is cut at the start. Errors: CommandFailure for an
 * invalid given name.
 */
export function feedName(given: string | undefined, location: string): string {
  if (given === apiFeed) throw new CommandFailure(`--feed: ${apiFeed} is the feed of what the API writes`);
  if (given !== undefined) return checkFeedName("--feed", given);
  const url = /^https?:\/\//i.test(location) ? URL.parse(location) : null;
  const name = url === null ? resolve(location) : `${url.host}${url.pathname}`;
  return name
    .replace(/[\p{C},]/gu, "_")
    .slice(-maxLength)
    .toWellFormed();
}

/** The names in a comma-separated list. Errors: CommandFailure. */
export function feedNames(option: string, list: string): string[] {
  const names = list.split(",").map((name) => checkFeedName(option, name.trim()));
  return [...new Set(names)];
}

function checkFeedName(option: string, name: string): string {
  if (!shape.test(name) || name.length > maxLength || !name.isWellFormed())
    throw new CommandFailure(
      `${option} must be a name of 1 to ${maxLength} characters in one line without commas, not ${JSON.stringify(name)}`,
    );
  return name;
}
