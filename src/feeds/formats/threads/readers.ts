/** The readers of whole documents that threads run, and what each returns. It can be sent between threads. */
import { toBinary } from "@bufbuild/protobuf";
import { DocumentSchema } from "../../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { Fields } from "../../records/fields.ts";
import { parseJson } from "../../records/parse.ts";
import type { ReadNotes } from "../../records/read-each.ts";
import { FeedRefusal } from "../../source/refusal.ts";
import { isOpenVex, openVexIgnored, readOpenVex } from "../openvex.ts";
import { readSbom } from "../sbom/sbom.ts";
import { readVulnReport } from "../scans/vuln-report.ts";

/** What a VEX document says. */
export interface VexStatements {
  /** `OpenVEX`. */
  readonly format: string;
  /** By which a publisher names all versions of the document; "" if it has none. */
  readonly id: string;
  readonly author: string;
  /** `platform.advisory.v2.Document` of each package, encoded. */
  readonly documents: readonly Uint8Array[];
}

/** The most that ids and authors have in UTF-16 units. */
const maxLength = 2048;

/** Reads a VEX document. Statements that cannot be read are refused alone. Errors: FeedRefusal. */
export function readVex(bytes: Uint8Array, notes: ReadNotes): VexStatements {
  const json = parseJson(bytes);
  if (!isOpenVex(json)) throw new FeedRefusal("is not OpenVEX (@context)");
  const fields = new Fields(json);
  const documents: Uint8Array[] = [];
  for (const read of readOpenVex(fields)) {
    if (read instanceof FeedRefusal) notes.refuse("statements", read.message);
    else documents.push(toBinary(DocumentSchema, read.document));
  }
  const id = fields.optionalText("@id", maxLength) ?? "";
  const author = fields.text("author", maxLength);
  fields.reportUnread(openVexIgnored, notes.unread);
  return { format: "OpenVEX", id, author, documents };
}

/** The readers by the kinds of documents. */
export const readers = { sbom: readSbom, scan: readVulnReport, vex: readVex } as const;

/** A kind of documents. */
export type DocumentKind = keyof typeof readers;

/** What the reader of a kind returns. */
export type ReadDocument<K extends DocumentKind> = ReturnType<(typeof readers)[K]>;
