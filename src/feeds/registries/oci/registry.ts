/**
 * Reads a container registry by the OCI Distribution Specification 1.1, or Docker's before it: repositories, tags,
 * images of digests, and what may be their bills of materials.
 *
 * Lists are streamed page by page, by `Link` (RFC 8288), up to a bounded number of pages. Content is checked against
 * its digest.
 */
import { createHash } from "node:crypto";
import { parseUnambiguous } from "../../../codec/index.ts";
import { authorizedSend, type Credentials } from "./authorization.ts";
import { RegistryFailure, RegistryRefusal } from "./errors.ts";
import { createRegistryHttp, type HttpAnswer, type HttpOptions, type HttpRequest, type RegistryHttp } from "./http.ts";
import {
  type Attestation,
  acceptedTypes,
  type Descriptor,
  type Index,
  isDigest,
  isImageConfig,
  isSignedType,
  type Manifest,
  type Platform,
  parseConfig,
  parseManifest,
} from "./manifest.ts";
import { documentsOf, mayHoldSbom, type SbomDocument } from "./sboms.ts";

/** The image of a digest. */
export interface RegistryImage {
  readonly digest: string;
  readonly mediaType: string;
  readonly platforms: readonly (Platform & {
    readonly digest: string;
    /** Size of the configuration and all layers, in bytes. */
    readonly size: number;
  })[];
  /** Those that BuildKit has put into the index, and into the indexes in it. */
  readonly attestations: readonly Attestation[];
  /** The digest that an artifact refers to. */
  readonly subject: string | undefined;
}

/** What an artifact, an attestation manifest, or an index of these may hold. */
interface Artifact {
  /** The digests of the manifests of an index. */
  readonly manifests: readonly string[];
  readonly documents: readonly SbomDocument[];
}

/** Options of {@link ContainerRegistry}. */
export interface RegistryOptions extends HttpOptions {
  readonly credentials?: Credentials | undefined;
}

/** `Accept` of a request for a list. That of referrers is an index. */
const acceptedLists = "application/vnd.oci.image.index.v1+json, application/json";
/** Statuses of registries without the referrers API: 404, and what others answer for a path that they do not know. */
const withoutReferrers = [400, 404, 405, 406, 501];
const pageSize = 1000;
const maxPages = 10_000;
const maxEmptyPages = 100;
const maxListBytes = 8 * 1024 * 1024;
const maxManifestBytes = 4 * 1024 * 1024;
const maxConfigBytes = 4 * 1024 * 1024;
/** Allows for a large document over a slow network. */
const documentTimeoutMs = 120_000;
/** Manifests of an index that are read, those of indexes in it included. */
const maxManifests = 200;
const maxIndexDepth = 3;

/** Whether `text` is a valid repository name (OCI Distribution Specification, "Pulling manifests"). */
export function isRepositoryName(text: string): boolean {
  const part = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
  return text.length <= 255 && new RegExp(`^${part}(?:/${part})*$`).test(text);
}

/** Whether `text` is a valid tag. */
export function isTagName(text: string): boolean {
  return /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/.test(text);
}

/**
 * A container registry at an http or https URL, read only: `https://registry.example.com`. Errors of every method:
 * RegistryRefusal, RegistryFailure.
 */
export class ContainerRegistry {
  readonly #base: URL;
  readonly #http: RegistryHttp;
  readonly #send: ReturnType<typeof authorizedSend>;

  /** Makes no request yet. Errors: RegistryRefusal for an invalid URL. */
  constructor(address: string, options: RegistryOptions = {}) {
    this.#base = parseBase(address);
    this.#http = createRegistryHttp(this.#base, options);
    this.#send = authorizedSend(this.#http, options.credentials);
  }

  /** Pages of repository names, unchecked. */
  async *repositories(): AsyncGenerator<readonly string[]> {
    const scope = "registry:catalog:*";
    const { first, url } = await this.#firstPage(scope, "_catalog");
    yield* this.#pages(scope, expectStatus(first, 200, "the catalog"), url, (answer) =>
      namesOf(answer, "repositories"),
    );
  }

  /** Pages of tag names, unchecked; undefined if the registry does not have the repository. */
  async tags(repository: string): Promise<AsyncGenerator<readonly string[]> | undefined> {
    const { first, url } = await this.#firstPage(scopeOf(repository), `${repository}/tags/list`);
    if (first.status === 404) return undefined;
    return this.#pages(scopeOf(repository), expectStatus(first, 200, repository), url, (answer) =>
      namesOf(answer, "tags"),
    );
  }

  /** The current digest of a tag or digest; undefined if there is none. */
  async resolveDigest(repository: string, reference: string): Promise<string | undefined> {
    const url = this.#urlOf(`${repository}/manifests/${reference}`);
    const request = { url, headers: { accept: acceptedTypes }, maxBytes: maxManifestBytes };
    const head = await this.#send(scopeOf(repository), { ...request, method: "HEAD" });
    if (head.status === 404) return undefined;
    const digest = head.headers["docker-content-digest"];
    if (head.status === 200 && digest !== undefined) {
      if (!isDigest(digest)) throw new RegistryRefusal(`${repository}:${reference} has a digest that is not SHA-256`);
      return digest;
    }
    // Without the header, the digest is computed from the content.
    const { status, body } = await this.#send(scopeOf(repository), { ...request, method: "GET" });
    if (status === 404) return undefined;
    if (status !== 200) throw new RegistryFailure(`${repository}:${reference}: the registry answers ${status}`);
    return sha256(body);
  }

  /** The image of a digest, then those of the platforms of an index; undefined if the registry does not have it. */
  async images(repository: string, digest: string): Promise<readonly RegistryImage[] | undefined> {
    const manifest = await this.#manifestOf(repository, { digest });
    if (manifest === undefined) return undefined;
    if (manifest.kind === "manifest") return [await this.#imageOf(repository, digest, manifest, undefined)];
    const { mediaType } = manifest;
    if (manifest.kind === "other") return [{ digest, mediaType, platforms: [], attestations: [], subject: undefined }];
    const { parts, attestations } = await this.#partsOf(repository, manifest);
    const platforms = parts.flatMap((part) => part.platforms);
    return [{ digest, mediaType, platforms, attestations, subject: undefined }, ...parts];
  }

  /**
   * Pages of digests of artifacts that refer to a digest and may hold its bills of materials; undefined if the registry
   * has no referrers API.
   */
  async referrers(repository: string, digest: string): Promise<AsyncGenerator<readonly string[]> | undefined> {
    const url = this.#urlOf(`${repository}/referrers/${digest}`);
    const first = await this.#page(scopeOf(repository), url);
    if (withoutReferrers.includes(first.status)) return undefined;
    // Not a failure, after which the rest would not be read: the images themselves can be.
    if (first.status !== 200) throw new RegistryRefusal(`${url.pathname}: the registry answers ${first.status}`);
    // Some registries answer unknown paths with a page.
    if (parseManifest(first.body, contentTypeOf(first)).kind !== "index") return undefined;
    return this.#pages(scopeOf(repository), first, url, (answer) => {
      const list = parseManifest(answer.body, contentTypeOf(answer));
      return list.kind === "index" ? artifactsOf(list) : [];
    });
  }

  /** What of an artifact may be bills of materials; undefined if the registry does not have it. */
  async artifact(repository: string, digest: string): Promise<Artifact | undefined> {
    const manifest = await this.#manifestOf(repository, { digest });
    if (manifest === undefined) return undefined;
    return {
      manifests: manifest.kind === "index" ? artifactsOf(manifest) : [],
      documents: manifest.kind === "manifest" ? documentsOf(manifest) : [],
    };
  }

  /** The content of a document. */
  async document(repository: string, { digest, size }: SbomDocument, maxBytes: number): Promise<Uint8Array> {
    if (size > maxBytes) throw new RegistryRefusal(`is larger than ${maxBytes} bytes`);
    const limits = { maxBytes, timeoutMs: documentTimeoutMs };
    const answer = await this.#get(repository, `blobs/${digest}`, { accept: "*/*", ...limits });
    if (answer.status === 404) throw new RegistryRefusal("the registry does not have it");
    checkDigest(expectStatus(answer, 200, digest).body, digest);
    return answer.body;
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #urlOf(path: string): URL {
    return new URL(`${this.#base.pathname.replace(/\/$/, "")}/v2/${path}`, this.#base);
  }

  async #get(
    repository: string,
    path: string,
    { accept, ...limits }: { readonly accept: string } & Pick<HttpRequest, "maxBytes" | "timeoutMs">,
  ) {
    const url = this.#urlOf(`${repository}/${path}`);
    return this.#send(scopeOf(repository), { url, method: "GET", headers: { accept }, ...limits });
  }

  async #page(scope: string, url: URL): Promise<HttpAnswer> {
    return this.#send(scope, { url, method: "GET", headers: { accept: acceptedLists }, maxBytes: maxListBytes });
  }

  /** The first page of a list. A registry may refuse the size of the page (PAGINATION_NUMBER_INVALID). */
  async #firstPage(scope: string, path: string): Promise<{ first: HttpAnswer; url: URL }> {
    const url = this.#urlOf(`${path}?n=${pageSize}`);
    const first = await this.#page(scope, url);
    if (first.status !== 400) return { first, url };
    url.search = "";
    return { first: await this.#page(scope, url), url };
  }

  /** Follows pages from `first`. */
  async *#pages(scope: string, first: HttpAnswer, at: URL, read: (answer: HttpAnswer) => readonly string[]) {
    const seen = new Set([at.href]);
    let answer = first;
    let url = at;
    let empty = 0;
    for (;;) {
      const names = read(answer);
      if (names.length > 0) yield names;
      const next = nextOf(answer, url);
      if (next === undefined) return;
      empty += names.length === 0 ? 1 : 0;
      if (seen.has(next.href) || seen.size >= maxPages || empty > maxEmptyPages)
        throw new RegistryRefusal(`${at.pathname}: the list does not end`);
      seen.add(next.href);
      url = next;
      answer = expectStatus(await this.#page(scope, url), 200, url.pathname);
    }
  }

  async #manifestOf(repository: string, { digest }: Pick<Descriptor, "digest">) {
    const answer = await this.#get(repository, `manifests/${digest}`, {
      accept: acceptedTypes,
      maxBytes: maxManifestBytes,
    });
    if (answer.status === 404) return undefined;
    expectStatus(answer, 200, `${repository}@${digest}`);
    if (!isSignedType(contentTypeOf(answer))) checkDigest(answer.body, digest);
    return parseManifest(answer.body, contentTypeOf(answer));
  }

  /** The images of an index and of the indexes in it, and their attestations. */
  async #partsOf(repository: string, index: Index, count = { left: maxManifests }, depth = 1) {
    const parts: RegistryImage[] = [];
    const attestations = [...index.attestations];
    for (const entry of index.manifests) {
      if (count.left === 0) break;
      count.left -= 1;
      const part = await this.#manifestOf(repository, entry);
      // An index may list platforms that the registry does not have.
      if (part?.kind === "manifest") parts.push(await this.#imageOf(repository, entry.digest, part, entry.platform));
      if (part?.kind !== "index" || depth >= maxIndexDepth) continue;
      const below = await this.#partsOf(repository, part, count, depth + 1);
      parts.push(...below.parts);
      attestations.push(...below.attestations);
    }
    return { parts, attestations };
  }

  /** The image of a manifest of one platform. `indexed` is the platform given by its index. */
  async #imageOf(repository: string, digest: string, manifest: Manifest, indexed: Platform | undefined) {
    const { mediaType, config, size, subject } = manifest;
    const platform = indexed ?? (isImageConfig(config) ? await this.#configOf(repository, config) : undefined);
    const platforms = platform === undefined ? [] : [{ ...platform, digest, size }];
    return { digest, mediaType, platforms, attestations: [], subject };
  }

  /** The platform of a configuration; undefined if it names none, or the registry does not have it. */
  async #configOf(repository: string, { digest, size }: Descriptor): Promise<Platform | undefined> {
    if (size > maxConfigBytes) return undefined;
    const answer = await this.#get(repository, `blobs/${digest}`, { accept: "*/*", maxBytes: maxConfigBytes });
    if (answer.status === 404) return undefined;
    checkDigest(expectStatus(answer, 200, digest).body, digest);
    return parseConfig(answer.body);
  }
}

function parseBase(address: string): URL {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "")
    throw new RegistryRefusal("the address must be an http or https URL without a query");
  if (url.username !== "" || url.password !== "") throw new RegistryRefusal("the address must not contain credentials");
  url.pathname = url.pathname.replace(/\/(?:v2\/?)?$/, ""); // with or without the version
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
  if (sha256(body) !== digest) throw new RegistryRefusal(`the content does not match ${digest}`);
}

function sha256(body: Uint8Array): string {
  return `sha256:${createHash("sha256").update(body).digest("hex")}`;
}

function contentTypeOf({ headers }: HttpAnswer): string {
  return String(headers["content-type"] ?? "");
}

/** The artifacts in a list that may hold bills of materials. */
function artifactsOf({ manifests }: Index): readonly string[] {
  return manifests.filter(mayHoldSbom).map(({ digest }) => digest);
}

function namesOf({ body }: HttpAnswer, member: string): readonly string[] {
  let list: unknown;
  try {
    list = (parseUnambiguous(Buffer.from(body).toString()) as Record<string, unknown> | null)?.[member] ?? [];
  } catch {
    throw new RegistryRefusal(`the list of ${member} is not JSON`);
  }
  if (!Array.isArray(list) || list.some((name) => typeof name !== "string"))
    throw new RegistryRefusal(`the list of ${member} is not a list of names`);
  return list as string[];
}

/**
 * The URL of the next page: this one with the query of the link. A registry behind a proxy may not know its public
 * origin and path. Some registries leave out the angle brackets.
 */
function nextOf({ headers }: HttpAnswer, url: URL): URL | undefined {
  const links = [headers.link ?? []].flat().join(", ").matchAll(linkValue);
  const [, bracketed, plain] = links.find(([, , , parameters = ""]) => nextRelation.test(parameters)) ?? [];
  const target = bracketed ?? plain;
  if (target === undefined) return undefined;
  const next = URL.parse(target, url.href);
  if (next === null) throw new RegistryRefusal("the address of the next page is not valid");
  return new URL(url.pathname + next.search, url.origin);
}

/** A link of a `Link` field (RFC 8288): its target, in angle brackets or without, and its parameters. */
const linkValue = /(?:<([^>]*)>|([^\s<>;,]+))((?:\s*;\s*[\w*-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s;,"']+))*)/g;
const nextRelation = /;\s*rel\s*=\s*["']?(?:[^"';]*\s)?next(?:$|[\s"';])/i;
