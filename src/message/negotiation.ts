/**
 * Content negotiation (RFC 9110, section 12): the media types and codings that a client accepts, and those that it
 * sent.
 */

/** Codings of bodies, in our order of preference. */
export const contentCodings = ["br", "gzip"] as const;

/** A coding of bodies. */
export type Coding = (typeof contentCodings)[number];

interface Preference {
  readonly name: string;
  readonly quality: number;
}

/** Parses `text/html;level=1;q=0.5, *` to names, without parameters, with their qualities. */
function parsePreferences(header: string): Preference[] {
  return header.split(",").map((item) => {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    const quality = Number(parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? 1);
    return { name, quality: quality >= 0 && quality <= 1 ? quality : 0 };
  });
}

/**
 * The media type that a client prefers: by quality, then by the most specific range, then by the order of `offered`.
 * Undefined if it accepts none of them. Without a header it is the first.
 */
export function chooseMediaType<T extends string>(accept: string | undefined, offered: readonly T[]): T | undefined {
  if (accept === undefined || accept.trim() === "") return offered[0];
  const qualities = new Map(parsePreferences(accept).map(({ name, quality }) => [name, quality]));
  let best: { type: T; quality: number; exactness: number } | undefined;
  for (const type of offered) {
    const ranges = [type, `${type.slice(0, type.indexOf("/"))}/*`, "*/*"];
    const exactness = ranges.findIndex((range) => qualities.has(range));
    const quality = qualities.get(ranges[exactness] ?? "") ?? 0;
    if (
      quality > 0 &&
      (best === undefined || quality > best.quality || (quality === best.quality && exactness < best.exactness))
    ) {
      best = { type, quality, exactness };
    }
  }
  return best?.type;
}

/**
 * The coding for a body; undefined to send it as it is. A small body is coded only for a client that refuses
 * `identity`. A client that refuses everything gets it as it is, as without a header.
 */
export function chooseCoding(acceptEncoding: string | undefined, isSmall: boolean): Coding | undefined {
  if (acceptEncoding === undefined) return undefined;
  const preferences = parsePreferences(acceptEncoding);
  const qualityOf = (coding: string) =>
    (
      preferences.find(({ name }) => name === coding || name === `x-${coding}`) ??
      preferences.find(({ name }) => name === "*")
    )?.quality;
  const identity = qualityOf("identity") ?? 1;
  let best: Coding | undefined;
  for (const coding of contentCodings) {
    if ((qualityOf(coding) ?? 0) > (best === undefined ? 0 : (qualityOf(best) ?? 0))) best = coding;
  }
  if (best === undefined || identity === 0) return best;
  const prefersIdentity = preferences.some(({ name }) => name === "identity") && identity > (qualityOf(best) ?? 0);
  return isSmall || prefersIdentity ? undefined : best;
}

/** The coding of a request body: undefined for none, null for an unknown one. */
export function parseCoding(contentEncoding: string | undefined): Coding | undefined | null {
  switch (contentEncoding?.trim().toLowerCase()) {
    case undefined:
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return "gzip";
    case "br":
      return "br";
    default:
      return null;
  }
}

const jsonTypes = ["", "application/json", "application/x-www-form-urlencoded"];

/**
 * Whether a body of this content type is read as JSON: `application/json` in UTF-8, no type,
 * `application/x-www-form-urlencoded`, which `curl -d` sends with any body, or one of `moreTypes`, in lower case.
 */
export function isJsonContentType(contentType: string | undefined, moreTypes: readonly string[] = []): boolean {
  return isUtf8(contentType, [...jsonTypes, ...moreTypes]);
}

/** Whether a content type is one of `types`, in lower case, with no other charset than UTF-8. */
export function isUtf8(contentType: string | undefined, types: readonly string[]): boolean {
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim().toLowerCase());
  if (!types.includes(type)) return false;
  return parameters.every((parameter) => !parameter.startsWith("charset=") || /^charset="?utf-?8"?$/.test(parameter));
}
