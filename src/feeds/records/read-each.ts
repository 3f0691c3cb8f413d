/** Reads lists whose items are refused alone. */
import { FeedRefusal } from "../source/refusal.ts";
import type { Fields, Refuse, Unread } from "./fields.ts";

/** Takes what a reader leaves out. */
export interface ReadNotes {
  /** @param path of the item in its record. */
  readonly refuse: Refuse;
  readonly unread: Unread;
}

/** Reads the items that can be read. */
export function readEach<T>(items: readonly Fields[], { refuse }: ReadNotes, read: (item: Fields) => T): T[] {
  return items.flatMap((item) => {
    try {
      return [read(item)];
    } catch (error) {
      if (!(error instanceof FeedRefusal)) throw error;
      refuse(item.path, error.message);
      return [];
    }
  });
}
