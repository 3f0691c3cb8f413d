/** A JSON client for REST with one token, for tests of servers. */

/** A status and a parsed body; `{}` for an empty one. */
export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read the members they expect.
  readonly body: any;
}

/** A client of one server. */
export interface RestClient {
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  patch(path: string, body: unknown): Promise<Answer>;
  delete(path: string): Promise<Answer>;
  /** All rows of a list, page by page, and the total of the last page. Errors: a page without success. */
  walk(path: string, field: string): Promise<{ rows: Row[]; totalCount: number }>;
}

/** A resource in JSON. */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export type Row = Record<string, any> & { readonly uid: string };

export function restClient(baseUrl: string, token: string): RestClient {
  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
  };
  return {
    get: (path) => call("GET", path),
    post: (path, body) => call("POST", path, body),
    patch: (path, body) => call("PATCH", path, body),
    delete: (path) => call("DELETE", path),
    async walk(path, field) {
      const rows: Row[] = [];
      let pageToken = "";
      for (;;) {
        const separator = path.includes("?") ? "&" : "?";
        const { status, body } = await call("GET", `${path}${separator}page_size=200&page_token=${pageToken}`);
        if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
        rows.push(...body[field]);
        pageToken = body.nextPageToken ?? "";
        if (pageToken === "") return { rows, totalCount: Number(body.totalCount) };
      }
    },
  };
}
