/** Content negotiation (RFC 9110, section 12): which media type and which coding a client takes, and which it sent. */

/** Codings of bodies, in our order of preference. */
export const CODINGS = ["br", "gzip"] as const;

/** A coding of bodies. */
export type Coding = (typeof CODINGS)[number];

interface Preference {
  readonly name: string;
  readonly quality: number;
}

/** `text/html;level=1;q=0.5, *` to names without parameters, each with its quality. */
function parsePreferences(header: string): Preference[] {
  return header.split(",").map((item) => {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    const quality = Number(parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? 1);
    return { name, quality: quality >= 0 && quality <= 1 ? quality : 0 };
  });
}

/**
 * The media type a client likes best: the highest quality, then the most exactly named, then our order. Undefined when
 * it takes none of them. Without a header it takes the first.
 */
export function chooseMediaType<T extends string>(accept: string | undefined, offered: readonly T[]): T | undefined {
  if (accept === undefined || accept.trim() === "") {
    return offered[0];
  }
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
 * The coding for a body; undefined to send it as it is. A small body is coded only for a client that refuses it
 * uncoded; a client that refuses everything gets it uncoded, as if it had not asked.
 */
export function chooseCoding(acceptEncoding: string | undefined, isSmall: boolean): Coding | undefined {
  if (acceptEncoding === undefined) {
    return undefined;
  }
  const preferences = parsePreferences(acceptEncoding);
  const qualityOf = (coding: string) =>
    (
      preferences.find(({ name }) => name === coding || name === `x-${coding}`) ??
      preferences.find(({ name }) => name === "*")
    )?.quality;
  const identity = qualityOf("identity") ?? 1;
  let best: Coding | undefined;
  for (const coding of CODINGS) {
    if ((qualityOf(coding) ?? 0) > (best === undefined ? 0 : (qualityOf(best) ?? 0))) {
      best = coding;
    }
  }
  if (best === undefined || identity === 0) {
    return best;
  }
  const prefersIdentity = preferences.some(({ name }) => name === "identity") && identity > (qualityOf(best) ?? 0);
  return isSmall || prefersIdentity ? undefined : best;
}

/** The coding of a request body: undefined for none, null for one that is not known. */
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

/**
 * Whether a body of this content type is read as JSON: `application/json` in UTF-8, no type at all, or
 * `application/x-www-form-urlencoded`, which is what `curl -d` claims of any body.
 */
export function isJsonContentType(contentType: string | undefined): boolean {
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim().toLowerCase());
  if (type !== "" && type !== "application/json" && type !== "application/x-www-form-urlencoded") {
    return false;
  }
  return parameters.every((parameter) => !parameter.startsWith("charset=") || /^charset="?utf-?8"?$/.test(parameter));
}
