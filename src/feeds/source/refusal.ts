/** Options of {@link FeedRefusal}. */
interface RefusalOptions extends ErrorOptions {
  readonly ids?: readonly string[] | undefined;
}

/** A record, or a whole file, is not accepted. The message is the reason. */
export class FeedRefusal extends Error {
  override readonly name: string = "FeedRefusal";
  /**
   * The ids of the items that are refused, which the feed has nevertheless. undefined if they are unknown, as in a file
   * that cannot be parsed.
   */
  readonly ids: readonly string[] | undefined;

  constructor(reason: string, { ids, ...options }: RefusalOptions = {}) {
    super(reason, options);
    this.ids = ids;
  }

  /** This refusal, of the items with these ids; undefined if they are unknown. */
  of(ids: readonly string[] | undefined): FeedRefusal {
    return new FeedRefusal(this.message, { cause: this, ids });
  }
}

/** Adds refusals of items, by their paths, to a list. */
export function refuseInto(refused: FeedRefusal[]): (path: string, reason: string) => void {
  return (path, reason) => void refused.push(new FeedRefusal(`${path}: ${reason}`));
}

/** A record lacks the members that identify records of the feed: it belongs to something else. */
export class ForeignRecord extends FeedRefusal {
  override readonly name = "ForeignRecord";
  /** Whether the format of the feed has such files beside its records. */
  readonly isIndex: boolean;

  constructor(reason: string, { isIndex = false } = {}) {
    super(reason, { ids: [] });
    this.isIndex = isIndex;
  }
}
