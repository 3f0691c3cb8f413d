/**
 * Reads a software bill of materials: SPDX or CycloneDX, detected by its members. It may be in an envelope: an in-toto
 * statement, a DSSE envelope or Sigstore bundle of one, GitHub's export (`sbom`), or BuildKit's (`SPDX`). Signatures
 * are not verified.
 */

import { parseJson } from "../../records/parse.ts";
import type { ReadNotes } from "../../records/read-each.ts";
import { FeedRefusal, ForeignRecord } from "../../source/refusal.ts";
import { readCycloneDx } from "./cyclonedx.ts";
import type { Sbom } from "./packages.ts";
import { readSpdx, readSpdx3 } from "./spdx.ts";

type Members = Readonly<Record<string, unknown>>;

/** Envelopes in envelopes: a bundle of a DSSE envelope of a statement of a text. */
const maxEnvelopes = 8;

/** Whether a type of in-toto statements is that of bills of materials, of any version. */
export function isSbomPredicate(predicateType: string): boolean {
  return /^https:\/\/(spdx\.dev\/Document|cyclonedx\.org\/bom)(\/|$)/.test(predicateType);
}

/**
 * The packages of a document. Errors: FeedRefusal; ForeignRecord for a signature, or a statement of something else,
 * such as provenance.
 */
export function readSbom(bytes: Uint8Array, notes: ReadNotes): Sbom {
  let document = parseJson(bytes);
  let foreignType: string | undefined;
  for (let depth = 0; depth <= maxEnvelopes; depth++) {
    const members = Object(document) as Members;
    if (members.spdxVersion !== undefined) return readSpdx(document, notes);
    if (members.bomFormat !== undefined) return readCycloneDx(document, notes);
    if (Array.isArray(members["@graph"]) && /spdx\.org\/rdf\/3\./.test(String(members["@context"])))
      return readSpdx3(document, notes);
    const { predicateType, messageSignature } = members;
    if (typeof predicateType === "string" && !isSbomPredicate(predicateType)) foreignType = predicateType;
    if (messageSignature !== undefined) throw new ForeignRecord("is a signature");
    const content = contentOf(members);
    if (content === undefined) break;
    document = content;
  }
  if (foreignType !== undefined) throw new ForeignRecord(`is a statement of ${JSON.stringify(foreignType)}`);
  throw new FeedRefusal("is neither SPDX nor CycloneDX in JSON, nor an envelope of one");
}

/** The content of an envelope; undefined if it is none. Errors: FeedRefusal for content that is not JSON. */
function contentOf({ payload, payloadType, dsseEnvelope, predicate, Data, sbom, SPDX }: Members): unknown {
  if (typeof payload === "string" && payloadType !== undefined) return parseJson(Buffer.from(payload, "base64"));
  if (typeof Data === "string") return parseJson(Buffer.from(Data)); // cosign's predicates before in-toto's
  return [dsseEnvelope, predicate, sbom, SPDX].find((content) => typeof content === "object" && content !== null);
}
