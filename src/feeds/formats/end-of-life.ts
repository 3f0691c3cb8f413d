/**
 * The releases of a product, as endoflife.date publishes them: a list of cycles (`/api/python.json`), or an object with
 * `result` (`/api/v1/products/python`). A release that cannot be read is refused alone.
 */
import { Fields } from "../records/fields.ts";
import { parseJson } from "../records/parse.ts";
import { type ReadNotes, readEach } from "../records/read-each.ts";
import { FeedRefusal } from "../source/refusal.ts";

/** A version of a product, of which there are several releases: `3.12`. Dates are `YYYY-MM-DD`, or "". */
export interface ProductCycle {
  readonly version: string;
  readonly releaseDate: string;
  readonly eolDate: string;
  /** Whether support has ended, where no date says so. */
  readonly isEol: boolean;
  readonly isLts: boolean;
  /** When long-term support begins; "" where that is not known. */
  readonly ltsDate: string;
  /** The newest release. */
  readonly latest: string;
}

/** A product and its versions, the newest first. */
export interface Product {
  /** "" where the document does not name it. */
  readonly name: string;
  readonly cycles: readonly ProductCycle[];
}

const maxCycles = 10_000;

/** Reads the document of a product. Errors: FeedRefusal. */
export function readProduct(bytes: Uint8Array, notes: ReadNotes): Product {
  const json = parseJson(bytes);
  if (Array.isArray(json)) {
    const list = new Fields({ cycles: json });
    return { name: "", cycles: readEach(list.objects("cycles", maxCycles, notes.refuse), notes, readCycle) };
  }
  const result = new Fields(json).optionalObject("result");
  if (result === undefined) throw new FeedRefusal("is neither a list of cycles nor an object with a result");
  return {
    name: result.text("name"),
    cycles: readEach(result.objects("releases", maxCycles, notes.refuse), notes, readRelease),
  };
}

/** A date, or true or false: `eol` and `lts` are either. */
function dateOrFlag(fields: Fields, name: string): { readonly date: string; readonly flag: boolean } {
  if (fields.isFlag(name)) return { date: "", flag: fields.optionalFlag(name) ?? false };
  const date = dateOf(fields, name);
  return { date, flag: date !== "" };
}

function dateOf(fields: Fields, name: string): string {
  const date = fields.optionalText(name) ?? "";
  if (date !== "" && !isDate(date)) throw fields.refusal(name, "is not a date YYYY-MM-DD");
  return date;
}

/** Whether a text is a date of the calendar. */
function isDate(text: string): boolean {
  const timeMs = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-/.test(text) && !Number.isNaN(timeMs) && new Date(timeMs).toISOString().startsWith(text);
}

function readCycle(cycle: Fields): ProductCycle {
  const eol = dateOrFlag(cycle, "eol");
  const lts = dateOrFlag(cycle, "lts");
  return {
    version: cycle.isText("cycle") ? cycle.text("cycle") : String(cycle.optionalNumber("cycle") ?? cycle.text("cycle")),
    releaseDate: dateOf(cycle, "releaseDate"),
    eolDate: eol.date,
    isEol: eol.date === "" && eol.flag,
    isLts: lts.flag,
    ltsDate: lts.date,
    latest: cycle.optionalText("latest") ?? "",
  };
}

function readRelease(release: Fields): ProductCycle {
  const eolDate = dateOf(release, "eolFrom");
  return {
    version: release.text("name"),
    releaseDate: dateOf(release, "releaseDate"),
    eolDate,
    isEol: eolDate === "" && release.optionalFlag("isEol") === true,
    isLts: release.optionalFlag("isLts") === true,
    ltsDate: dateOf(release, "ltsFrom"),
    latest: release.optionalObject("latest")?.optionalText("name") ?? "",
  };
}
