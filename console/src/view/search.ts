/** What the address of the page of a resource says. */

/** The state of the page. It is in the address, so that it can be shared. */
export interface ViewSearch {
  /** The title of the open tab; absent for the first one. */
  tab?: string;
  /** What the tab filters by: fields of its request, in the JSON form of protobuf. */
  filter?: Record<string, string>;
}

/** Reads the search of an address, leaving out what has another type. */
export function readViewSearch({ tab, filter }: Record<string, unknown>): ViewSearch {
  const texts = Object.entries(filter ?? {}).filter(([, value]) => typeof value === "string" && value !== "");
  return {
    ...(typeof tab === "string" && { tab }),
    ...(texts.length > 0 && { filter: Object.fromEntries(texts) as Record<string, string> }),
  };
}
