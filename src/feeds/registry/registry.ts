/**
 * A registry of the OCI Distribution Specification 1.1 (and Docker's before it), read: repositories, tags, and what a digest stands for.
 *
 * Lists come in pages, by `Link` (RFC 8288), and are handed on as they come. A registry that never ends is left after a bounded number of pages.
 * What has a digest is checked against it.
 */
import { createHash } from "node:crypto";
import { authorizedSend, type Credentials } from "./authorization.ts";
import { RegistryFailure, RegistryRefusal } from "./errors.ts";
import { createRegistryHttp, type HttpAnswer, type HttpOptions } from "./http.ts";
import {
  acceptedTypes,
  type Descriptor,
  isDigest,
  isImageConfig,
  type Manifest,
  type Platform,
  parseConfig,
  parseManifest,
} from "./manifest.ts";

/** What is known of a digest. */
export interface RegistryImage {
  readonly digest: string;
  readonly mediaType: string;
  readonly platforms: readonly (Platform & {
    readonly digest: string;
    /** The configuration and all layers, in bytes. */
    readonly size: number;
  })[];
}

/** A registry that is read. Errors of every method: RegistryRefusal, RegistryFailure. */
export interface Registry {
  /** The names of all repositories, page by page, as the registry writes them. */
  repositories(): AsyncGenerator<readonly string[]>;
  /** The tags of a repository, page by page; undefined where the registry knows no such repository. */
  tags(repository: string): Promise<AsyncGenerator<readonly string[]> | undefined>;
  /** The digest that a tag, or a digest itself, stands for now; undefined for none. */
  digestOf(repository: string, reference: string): Promise<string | undefined>;
  /** What a digest stands for: itself first, then the manifests of its platforms; undefined where the registry does not hold it. */
  images(repository: string, digest: string): Promise<readonly RegistryImage[] | undefined>;
  close(): Promise<void>;
}

/** How a registry is read. */
export interface RegistryOptions extends HttpOptions {
  readonly credentials?: Credentials | undefined;
}

const pageSize = 1000;
const maxPages = 10_000;
const maxEmptyPages = 100;
const maxListBytes = 8 * 1024 * 1024;
const maxManifestBytes = 4 * 1024 * 1024;
const maxConfigBytes = 4 * 1024 * 1024;

/** Whether `text` is the name of a repository (OCI Distribution Specification, "Pulling manifests"). */
export function isRepositoryName(text: string): boolean {
  const part = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
  return text.length <= 255 && new RegExp(`^${part}(?:/${part})*$`).test(text);
}

/** Whether `text` is a tag. */
export function isTagName(text: string): boolean {
  return /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/.test(text);
}

/**
 * Opens the registry at an http or https address: `https://registry.example.com`. Nothing is asked yet.
 * Errors: RegistryRefusal for what is no such address.
 */
export function openRegistry(address: string, options: RegistryOptions = {}): Registry {
  const base = parseBase(address);
  const root = `${base.pathname.replace(/\/$/, "")}/v2`;
  const http = createRegistryHttp(base, options);
  const send = authorizedSend(http, options.credentials);

  async function get(repository: string, path: string, maxBytes: number, accept = "application/json") {
    const url = new URL(`${root}/${repository}/${path}`, base);
    return send(scopeOf(repository), { url, method: "GET", headers: { accept }, maxBytes });
  }

  async function page(scope: string, url: URL): Promise<HttpAnswer> {
    return send(scope, { url, method: "GET", headers: { accept: "application/json" }, maxBytes: maxListBytes });
  }

  /** The pages that begin with `first`, each a list at `member` of a JSON object. */
  async function* pages(scope: string, first: HttpAnswer, at: URL, member: string) {
    const seen = new Set([at.href]);
    let answer = first;
    let url = at;
    let empty = 0;
    for (;;) {
      const names = namesOf(answer, member);
      if (names.length > 0) yield names;
      const next = nextOf(answer, url);
      if (next === undefined) return;
      empty += names.length === 0 ? 1 : 0;
      if (seen.has(next.href) || seen.size >= maxPages || empty > maxEmptyPages)
        throw new RegistryRefusal(`${at.pathname}: the list does not end`);
      seen.add(next.href);
      url = next;
      answer = expectStatus(await page(scope, url), 200, url.pathname);
    }
  }

  async function manifestOf(repository: string, { digest }: Pick<Descriptor, "digest">) {
    const answer = await get(repository, `manifests/${digest}`, maxManifestBytes, acceptedTypes);
    if (answer.status === 404) return undefined;
    expectStatus(answer, 200, `${repository}@${digest}`);
    checkDigest(answer.body, digest);
    return parseManifest(answer.body, String(answer.headers["content-type"] ?? ""));
  }

  /** The image that a manifest of one platform is; `said` is what its index says of the platform. */
  async function imageOf(repository: string, digest: string, manifest: Manifest, said: Platform | undefined) {
    const { mediaType, config, size } = manifest;
    const platform = said ?? (isImageConfig(config) ? await configOf(repository, config) : undefined);
    const isNamed = platform !== undefined && platform.architecture !== "";
    return { digest, mediaType, platforms: isNamed ? [{ ...platform, digest, size }] : [] };
  }

  async function configOf(repository: string, { digest }: Descriptor): Promise<Platform> {
    const answer = expectStatus(await get(repository, `blobs/${digest}`, maxConfigBytes, "*/*"), 200, digest);
    checkDigest(answer.body, digest);
    return parseConfig(answer.body);
  }

  return {
    async *repositories() {
      const url = new URL(`${root}/_catalog?n=${pageSize}`, base);
      const scope = "registry:catalog:*";
      yield* pages(scope, expectStatus(await page(scope, url), 200, "the catalog"), url, "repositories");
    },

    async tags(repository) {
      const url = new URL(`${root}/${repository}/tags/list?n=${pageSize}`, base);
      const first = await page(scopeOf(repository), url);
      if (first.status === 404) return undefined;
      return pages(scopeOf(repository), expectStatus(first, 200, repository), url, "tags");
    },

    async digestOf(repository, reference) {
      const url = new URL(`${root}/${repository}/manifests/${reference}`, base);
      const request = { url, headers: { accept: acceptedTypes }, maxBytes: maxManifestBytes };
      const head = await send(scopeOf(repository), { ...request, method: "HEAD" });
      if (head.status === 404) return undefined;
      const said = head.headers["docker-content-digest"];
      if (head.status === 200 && said !== undefined) {
        if (!isDigest(said)) throw new RegistryRefusal(`${repository}:${reference} has a digest that is not SHA-256`);
        return said;
      }
      // A registry that does not say it at once: the digest is that of the content.
      const { status, body } = await send(scopeOf(repository), { ...request, method: "GET" });
      if (status === 404) return undefined;
      if (status !== 200) throw new RegistryFailure(`${repository}:${reference}: the registry answers ${status}`);
      return sha256(body);
    },

    async images(repository, digest) {
      const manifest = await manifestOf(repository, { digest });
      if (manifest === undefined) return undefined;
      if (manifest.kind === "manifest") return [await imageOf(repository, digest, manifest, undefined)];
      const parts: RegistryImage[] = [];
      for (const entry of manifest.manifests) {
        const part = await manifestOf(repository, entry);
        // An index may name platforms that the registry does not hold.
        if (part?.kind === "manifest") parts.push(await imageOf(repository, entry.digest, part, entry.platform));
      }
      return [{ digest, mediaType: manifest.mediaType, platforms: parts.flatMap((part) => part.platforms) }, ...parts];
    },

    close: () => http.close(),
  };
}

function parseBase(address: string): URL {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "")
    throw new RegistryRefusal("a registry is at an http or https address without a query");
  if (url.username !== "" || url.password !== "") throw new RegistryRefusal("credentials do not belong in the address");
  url.pathname = url.pathname.replace(/\/(?:v2\/?)?$/, ""); // the version may be written or left out
  return url;
}

function scopeOf(repository: string): string {
  return `repository:${repository}:pull`;
}

function expectStatus(answer: HttpAnswer, status: number, what: string): HttpAnswer {
  if (answer.status !== status) throw new RegistryFailure(`${what}: the registry answers ${answer.status}`);
  return answer;
}

function checkDigest(body: Uint8Array, digest: string): void {
  if (sha256(body) !== digest) throw new RegistryRefusal(`the content is not that of ${digest}`);
}

function sha256(body: Uint8Array): string {
  return `sha256:${createHash("sha256").update(body).digest("hex")}`;
}

function namesOf({ body }: HttpAnswer, member: string): readonly string[] {
  let list: unknown;
  try {
    list = (JSON.parse(Buffer.from(body).toString()) as Record<string, unknown> | null)?.[member] ?? [];
  } catch {
    throw new RegistryRefusal(`the list of ${member} is no JSON`);
  }
  if (!Array.isArray(list) || list.some((name) => typeof name !== "string"))
    throw new RegistryRefusal(`the list of ${member} is no list of names`);
  return list as string[];
}

/** The page after this one, at the origin that was asked: registries behind a proxy may not know how they are called. */
function nextOf({ headers }: HttpAnswer, url: URL): URL | undefined {
  const links = typeof headers.link === "string" ? headers.link : "";
  const target = /<([^>]*)>\s*;[^,<]*\brel\s*=\s*"?next"?/i.exec(links)?.[1];
  if (target === undefined) return undefined;
  const next = URL.parse(target, url.href);
  if (next === null || next.hostname !== url.hostname) throw new RegistryRefusal("the next page is at another host");
  return new URL(next.pathname + next.search, url.origin);
}
