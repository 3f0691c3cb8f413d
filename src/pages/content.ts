/** Content that is the same for everybody: with an entity tag, and coded once for each coding. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { type Endpoint, readEndpoint } from "../http/index.ts";
import { type Coding, chooseCoding, type PortRequest, type PortResponse } from "../message/index.ts";

/** Content in all its codings. */
interface Content {
  readonly identity: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

/** What an endpoint of content is made from. */
interface ContentOptions {
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Reads the content, once. */
  load(): Promise<Content>;
  /** Answers when the content cannot be read. */
  onError(error: unknown, response: PortResponse): void;
}

/** Codes a text that does not change. */
export async function coded(text: string): Promise<Content> {
  const identity = Buffer.from(text);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 7 };
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(identity, { params }),
    promisify(gzip)(identity, { level: 7 }),
  ]);
  return { identity, br, gzip: gz };
}

/** An endpoint that answers GET and HEAD with content. */
export function contentEndpoint({ type, headers, load, onError }: ContentOptions): Endpoint {
  let loading: Promise<{ content: Content; digest: string }> | undefined;
  const loaded = () => {
    loading ??= load().then((content) => {
      const digest = createHash("sha256").update(content.identity).digest("base64url").slice(0, 22);
      return { content, digest };
    });
    loading.catch(() => {
      loading = undefined; // the next request tries again
    });
    return loading;
  };

  async function answer(request: PortRequest, response: PortResponse): Promise<void> {
    const { content, digest } = await loaded();
    const accepted = request.headers["accept-encoding"];
    const coding: Coding | "identity" =
      chooseCoding(accepted === undefined ? undefined : String(accepted), false) ?? "identity";
    const bytes = content[coding];
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader("etag", `"${digest}${coding === "identity" ? "" : `-${coding}`}"`);
    response.setHeader("vary", "accept-encoding");
    if (isCurrent(request.headers["if-none-match"], digest)) {
      response.statusCode = 304;
      response.end();
      return;
    }
    response.setHeader("content-type", type);
    response.setHeader("content-length", bytes.length);
    if (coding !== "identity") response.setHeader("content-encoding", coding);
    response.end(request.method === "HEAD" ? "" : bytes);
  }

  return readEndpoint(answer, onError);
}

/** Whether a client has the content, in whatever coding. */
function isCurrent(ifNoneMatch: string | undefined, digest: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return (
    ifNoneMatch.trim() === "*" ||
    ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "").startsWith(`"${digest}`))
  );
}
