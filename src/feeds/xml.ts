/**
 * XML that nobody has checked, as an element tree. What makes XML dangerous is refused or not done: a document type is refused, so there are no
 * entities but the five of XML and character references, each read once; nesting has a limit; nothing is fetched. Attributes, comments, processing
 * instructions and namespaces are passed over.
 *
 * Encodings: UTF-8, and what a declaration calls ISO-8859-1 or US-ASCII.
 */
import { FeedRefusal } from "./fields.ts";

const maxDepth = 50;

/** An element: what it holds, by the names of its children; a leaf is its text. */
export type XmlElement = { readonly [name: string]: XmlElement | string | readonly (XmlElement | string)[] };

/**
 * The root element of a document, under its name. `lists` are the paths of elements that are a list even when there is one (`a.b.c`); other elements
 * are a list when there are several. A text is as it stands, white space included, and "" where there is nothing else. Errors: FeedRefusal.
 */
export async function parseXml(bytes: Uint8Array, lists: ReadonlySet<string>): Promise<XmlElement> {
  const text = decode(bytes);
  if (/<!DOCTYPE/i.test(text)) throw new FeedRefusal("has a document type");
  const { XMLParser } = await import("fast-xml-parser"); // only when first needed: the server never does
  const parser = new XMLParser({
    ignoreAttributes: true,
    ignoreDeclaration: true,
    ignorePiTags: true,
    parseTagValue: false,
    trimValues: false,
    processEntities: false,
    htmlEntities: false,
    maxNestedTags: maxDepth,
    isArray: (_, path) => lists.has(String(path)),
    tagValueProcessor: (_, value) => (value.trim() === "" ? "" : resolveReferences(value)),
  });
  try {
    return parser.parse(text, true) as XmlElement;
  } catch (error) {
    throw new FeedRefusal(`is not XML: ${(error as Error).message}`, { cause: error });
  }
}

function decode(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 200)).toString("latin1");
  const encoding = /^[^<]*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(head)?.[1]?.toLowerCase() ?? "utf-8";
  if (!["utf-8", "iso-8859-1", "us-ascii"].includes(encoding)) throw new FeedRefusal(`is encoded in ${encoding}`);
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    throw new FeedRefusal(`is not ${encoding}`, { cause: error });
  }
}

const entities: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** What a text stands for; a reference to nothing stays as it is. */
function resolveReferences(text: string): string {
  return text.replace(/&(?:#x([0-9A-Fa-f]{1,6})|#([0-9]{1,7})|(\w+));/g, (reference, hex, decimal, name) => {
    if (name !== undefined) return entities.get(name) ?? reference;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : reference;
  });
}
