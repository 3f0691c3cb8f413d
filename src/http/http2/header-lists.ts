/**
 * The header lists of the requests of one connection: whether they are simple or malformed, and the memory that they
 * take.
 */
import { isMalformedRequest } from "../request-fields.ts";
import type { Share } from "../shared-bytes.ts";
import type { HeaderList } from "./hpack/hpack.ts";
import { type RequestHead, readSimpleHead } from "./simple-fields.ts";

/** The header lists of one connection. */
export class HeaderLists {
  readonly #share: Share;
  /** What is kept for open streams, in bytes. */
  #keptBytes = 0;
  /** The last list: clients often repeat a list, and get the same object then. */
  #list: HeaderList | undefined;
  #head: RequestHead | undefined;
  /** Whether the last list is that of no valid request, RFC 9113 section 8.1.1. */
  isMalformed = false;

  constructor(share: Share) {
    this.#share = share;
  }

  /** The head of a simple request. Sets {@link isMalformed}. */
  read(list: HeaderList): RequestHead | undefined {
    if (list === this.#list) return this.#head;
    this.#list = list;
    this.#head = readSimpleHead(list);
    this.isMalformed = this.#head === undefined && !list.isTooLarge && isMalformedRequest(list.fields);
    return this.#head;
  }

  /**
   * Keeps so many more bytes, unless that is too much. `blockBytes`: the size of the header block that is being
   * received.
   */
  keep(bytes: number, blockBytes: number): boolean {
    const keptBytes = this.#keptBytes + bytes + blockBytes;
    const isKept = bytes < 0 || this.#share.fits(keptBytes - this.#share.bytes);
    if (isKept) {
      this.#keptBytes += bytes;
      this.#share.set(keptBytes);
    }
    return isKept;
  }

  /** Forgets the last list. */
  forget(): void {
    this.#list = undefined;
    this.#head = undefined;
  }
}
