/** Lists: all results of a List method, read page by page. */

/** What a page of every List method has, in a response of any type. */
export interface Page {
  nextPageToken?: string | undefined;
}

/** What the request of every List method has. */
export interface PageRequest {
  pageToken?: string;
  skip?: number;
}

/**
 * The results of a List method on all pages. Nothing is called before it is iterated, and a page is read only when the
 * one before it has been used. It can be iterated again, which calls the server again.
 */
export interface List<Item, PageOfItems> extends AsyncIterable<Item> {
  /** The pages, one call each. `totalCount` of a page is the number of results on all of them. */
  pages(): AsyncIterable<PageOfItems>;
  /** The page that the request asks for, alone. Its `nextPageToken` is the `pageToken` of the one after it. */
  page(): Promise<PageOfItems>;
}

/**
 * The list of a request. Iterating it throws the errors of calls.
 * @param itemsOf the results of a page.
 */
export function listOf<Item, PageOfItems extends Page>(
  request: PageRequest,
  call: (request: PageRequest) => Promise<PageOfItems>,
  itemsOf: (page: PageOfItems) => readonly Item[],
): List<Item, PageOfItems> {
  async function* pages() {
    let page = await call(request);
    yield page;
    while (page.nextPageToken) {
      // `skip` counts from the token.
      page = await call({ ...request, skip: 0, pageToken: page.nextPageToken });
      yield page;
    }
  }
  return {
    pages,
    page: () => call(request),
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* itemsOf(page);
    },
  };
}
