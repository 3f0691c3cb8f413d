/** What is not read of a document. Plain data: it can be stored as JSON. */
import { create } from "@bufbuild/protobuf";
import { type LeftOut as LeftOutMessage, LeftOutSchema } from "../../../gen/platform/findings/v1/sboms_pb.ts";

/** A part of a document that was left out. */
export interface LeftOut {
  /** What it is: a path in the document, or the name of a package. */
  readonly name: string;
  readonly reason: string;
}

/** What a reader has left out. */
export interface Left {
  readonly refusedCount: number;
  readonly refused: readonly LeftOut[];
  /** Sorted. */
  readonly unread: readonly string[];
}

/** Limit of each list of what was left out; the counts go on. */
const maxNamed = 100;

/** Longest text of a list, in UTF-16 units. */
const maxLength = 512;

/** Collects what a reader leaves out, for the answer to whoever sent the document. */
export class DocumentNotes {
  readonly #refused: LeftOut[] = [];
  readonly #unread = new Set<string>();
  #refusedCount = 0;

  /** Notes a part that could not be read. */
  readonly refuse = (path: string, reason: string): void => {
    this.#refusedCount++;
    if (this.#refused.length < maxNamed) this.#refused.push(named(path, reason));
  };

  /** Notes a member that is not known, by its path. */
  readonly unread = (member: string): void => {
    if (this.#unread.size < maxNamed) this.#unread.add(shortened(member));
  };

  /** What was noted. */
  get left(): Left {
    return { refusedCount: this.#refusedCount, refused: this.#refused, unread: [...this.#unread].sort() };
  }
}

/** As the contract tells it. @param unmatched packages that nothing can be known about. */
export function leftOutOf(
  { refusedCount, refused, unread }: Left,
  unmatched: readonly { readonly name: string; readonly version: string; readonly reason: string }[] = [],
): LeftOutMessage {
  return create(LeftOutSchema, {
    unmatchedCount: unmatched.length,
    unmatched: unmatched
      .slice(0, maxNamed)
      .map(({ name, version, reason }) => named(version === "" ? name : `${name} ${version}`, reason)),
    refusedCount,
    refused: refused.map((part) => ({ ...part })),
    unread: [...unread],
  });
}

/** A part that was left out, with texts of a limited length. */
function named(name: string, reason: string): LeftOut {
  return { name: shortened(name), reason: shortened(reason) };
}

function shortened(text: string): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}
