/** What feeds are called: by their operator, or by where they come from. */
import { resolve } from "node:path";
import { CommandFailure } from "./failure.ts";

const maxLength = 255;
/** One line of text; a comma stands between names. */
const shape = /^[^\p{C},]+$/u;

/**
 * The name of the feed at a location: the name given, else the host and path of an address, without what may hold a secret, else the absolute path of
 * a file or directory; of a long one the end. Errors: CommandFailure for a name that is none.
 */
export function feedName(given: string | undefined, location: string): string {
  if (given !== undefined) return checkFeedName("--feed", given);
  const url = /^https?:\/\//i.test(location) ? URL.parse(location) : null;
  const place = url === null ? resolve(location) : `${url.host}${url.pathname}`;
  return place
    .replace(/[\p{C},]/gu, "_")
    .slice(-maxLength)
    .toWellFormed();
}

/** The names in a list with commas. Errors: CommandFailure. */
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
