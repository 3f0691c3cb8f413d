/**
 * Parses untrusted XML into a tree of elements. Document types are refused, so the only entities are the five
 * predefined ones and character references, which are expanded once. Nesting is limited, and nothing is fetched.
 * Attributes, comments, processing instructions and namespaces are ignored.
 *
 * Encodings: UTF-8, and ISO-8859-1 or US-ASCII if declared.
 */
import { FeedRefusal } from "../source/refusal.ts";

const maxDepth = 50;

/** The children of an element by name. A leaf is a text. */
type XmlElement = { readonly [name: string]: XmlElement | string | readonly (XmlElement | string)[] };

/**
 * Parses a document into an object with the root element under its name. Texts keep their white space; a text of only
 * white space is "". Repeated elements are a list. Errors: FeedRefusal.
 * @param lists paths of elements that are a list even if there is only one (`a.b.c`).
 */
export async function parseXml(bytes: Uint8Array, lists: ReadonlySet<string>): Promise<XmlElement> {
  const text = decode(bytes);
  if (/<!DOCTYPE/i.test(text)) throw new FeedRefusal("has a document type");
  const { XMLParser } = await import("fast-xml-parser"); // on first use: the server never needs it
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

/** Expands references. An unknown or invalid reference is left as it is. */
function resolveReferences(text: string): string {
  return text.replace(/&(?:#x([0-9A-Fa-f]{1,6})|#([0-9]{1,7})|(\w+));/g, (reference, hex, decimal, name) => {
    if (name !== undefined) return entities.get(name) ?? reference;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : reference;
  });
}
