/**
 * Starts the registry of the distribution project, if its program is installed (Debian's package `docker-registry`), on
 * a free port with its files in a temporary folder, and pushes generated images through its API.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../free-port.ts";

/** A running registry. */
export interface DistributionRegistry {
  /** `http://127.0.0.1:5000`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** The endpoint that receives the registry's notifications. */
export interface NotificationEndpoint {
  readonly url: string;
  readonly secret: string;
}

/** The program, or the reason why there is none. */
export function findRegistry(): { readonly program: string } | { readonly missing: string } {
  for (const program of ["docker-registry", "registry"]) {
    try {
      const version = execFileSync(program, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
      if (version.includes("distribution")) return { program };
    } catch {
      // not installed under this name
    }
  }
  return { missing: "no registry program on PATH (Debian's package docker-registry)" };
}

/** Starts the registry. @param port a free port by default. */
export async function startRegistry(
  program: string,
  { port: given, notifications }: { port?: number; notifications?: NotificationEndpoint } = {},
): Promise<DistributionRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "platform-registry-"));
  const port = given ?? (await freePort());
  const config = {
    version: "0.1",
    log: { level: "error", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, "files") }, delete: { enabled: true } },
    http: { addr: `127.0.0.1:${port}`, secret: randomBytes(16).toString("hex") },
    ...(notifications && {
      notifications: {
        endpoints: [
          {
            name: "platform",
            url: notifications.url,
            headers: { Authorization: [`Bearer ${notifications.secret}`] },
            timeout: "5s",
            threshold: 3,
            backoff: "200ms",
          },
        ],
      },
    }),
  };
  await writeFile(join(folder, "config.yml"), JSON.stringify(config)); // JSON is YAML
  const child = spawn(program, ["serve", join(folder, "config.yml")], { stdio: ["ignore", "ignore", "pipe"] });
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints = (complaints + text).slice(-4000);
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilAnswers(`${url}/v2/`, child);
  } catch (error) {
    child.kill();
    throw new Error(`the registry does not start: ${complaints}`, { cause: error });
  }
  return {
    url,
    async stop() {
      if (child.exitCode === null) {
        child.kill("SIGKILL");
        await once(child, "exit");
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** One platform of a generated image. */
export interface MadePlatform {
  readonly architecture: string;
  readonly variant?: string;
  readonly digest: string;
  readonly size: number;
}

/** A pushed image. */
export interface MadeImage {
  readonly digest: string;
  readonly platforms: readonly MadePlatform[];
}

const types = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
} as const;

/** Pushes an image of random content for these platforms (`amd64`, `arm/v7`); an index if there are several. */
export async function pushImage(
  registry: string,
  repository: string,
  tag: string,
  platforms: readonly string[],
): Promise<MadeImage> {
  const made: (MadePlatform & { bytes: number })[] = [];
  for (const platform of platforms) {
    const [architecture = "", variant] = platform.split("/");
    const named = { architecture, ...(variant !== undefined && { variant }) };
    const content = randomBytes(1000 + made.length);
    const layer = await pushBlob(registry, repository, types.layer, content);
    const config = await pushBlob(
      registry,
      repository,
      types.config,
      Buffer.from(JSON.stringify({ ...named, os: "linux", rootfs: { type: "layers", diff_ids: [layer.digest] } })),
    );
    const manifest = { schemaVersion: 2, mediaType: types.manifest, config, layers: [layer, layer] };
    const reference = platforms.length === 1 ? tag : undefined;
    const pushed = await pushManifest(registry, repository, reference, types.manifest, manifest);
    made.push({ ...named, digest: pushed.digest, size: config.size + 2 * layer.size, bytes: pushed.size });
  }
  const [only] = made;
  if (only !== undefined && made.length === 1) return { digest: only.digest, platforms: made };
  const manifests = made.map(({ digest, bytes, architecture, variant }) => ({
    mediaType: types.manifest,
    digest,
    size: bytes,
    platform: { architecture, os: "linux", ...(variant !== undefined && { variant }) },
  }));
  const index = { schemaVersion: 2, mediaType: types.index, manifests };
  return { digest: (await pushManifest(registry, repository, tag, types.index, index)).digest, platforms: made };
}

/** Pushes an image of one platform in an index, with an attestation as BuildKit makes it. */
export async function pushAttestedImage(
  registry: string,
  repository: string,
  tag: string,
  statement: object,
): Promise<MadeImage> {
  const image = await pushImage(registry, repository, `${tag}-alone`, ["amd64"]);
  const config = await pushBlob(registry, repository, types.config, Buffer.from("{}"));
  const layer = await pushBlob(registry, repository, "application/vnd.in-toto+json", jsonOf(statement));
  const manifest = { schemaVersion: 2, mediaType: types.manifest, config, layers: [layer] };
  const attestation = await pushManifest(registry, repository, undefined, types.manifest, manifest);
  const annotations = {
    "vnd.docker.reference.type": "attestation-manifest",
    "vnd.docker.reference.digest": image.digest,
  };
  const manifests = [
    { mediaType: types.manifest, digest: image.digest, size: 1, platform: { architecture: "amd64", os: "linux" } },
    { mediaType: types.manifest, ...attestation, annotations, platform: { architecture: "unknown", os: "unknown" } },
  ];
  const index = { schemaVersion: 2, mediaType: types.index, manifests };
  const { digest } = await pushManifest(registry, repository, tag, types.index, index);
  return { digest, platforms: image.platforms };
}

/** Pushes a document that refers to an image, and lists it in the tag for registries without the referrers API. */
export async function pushReferrer(
  registry: string,
  repository: string,
  subject: string,
  artifactType: string,
  document: object,
): Promise<void> {
  const config = await pushBlob(registry, repository, "application/vnd.oci.empty.v1+json", Buffer.from("{}"));
  const layer = await pushBlob(registry, repository, artifactType, jsonOf(document));
  const manifest = {
    schemaVersion: 2,
    mediaType: types.manifest,
    artifactType,
    config,
    layers: [layer],
    subject: { mediaType: types.index, digest: subject, size: 1 },
  };
  const pushed = await pushManifest(registry, repository, undefined, types.manifest, manifest);
  const manifests = [{ mediaType: types.manifest, ...pushed, artifactType }];
  const index = { schemaVersion: 2, mediaType: types.index, manifests };
  await pushManifest(registry, repository, subject.replace(":", "-"), types.index, index);
}

function jsonOf(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Deletes a manifest and its tags. */
export async function deleteManifest(registry: string, repository: string, digest: string): Promise<void> {
  await expectStatus(`${registry}/v2/${repository}/manifests/${digest}`, 202, { method: "DELETE" });
}

async function pushBlob(registry: string, repository: string, mediaType: string, content: Uint8Array) {
  const digest = digestOf(content);
  const started = await expectStatus(`${registry}/v2/${repository}/blobs/uploads/`, 202, { method: "POST" });
  const upload = new URL(started.headers.get("location") ?? "", registry);
  upload.searchParams.set("digest", digest);
  await expectStatus(upload.href, 201, {
    method: "PUT",
    body: content,
    headers: { "content-type": "application/octet-stream" },
  });
  return { mediaType, digest, size: content.length };
}

async function pushManifest(
  registry: string,
  repository: string,
  tag: string | undefined,
  mediaType: string,
  manifest: object,
) {
  const content = Buffer.from(JSON.stringify(manifest));
  const digest = digestOf(content);
  await expectStatus(`${registry}/v2/${repository}/manifests/${tag ?? digest}`, 201, {
    method: "PUT",
    body: content,
    headers: { "content-type": mediaType },
  });
  return { digest, size: content.length };
}

async function expectStatus(url: string, status: number, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, init);
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${init.method} ${url}: ${answer.status} ${text}`);
  return answer;
}

function digestOf(content: Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

async function untilAnswers(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (child.exitCode !== null) break;
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} does not answer`);
}
