/** A registry in this process with responses set by tests. It records requests. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";

/** The handler of a path. */
export type Route = (request: IncomingMessage, response: ServerResponse) => void;

/** A running fake registry. */
export interface FakeRegistry {
  /** `http://127.0.0.1:5000`. */
  readonly url: string;
  /** Handlers by path without query; other paths are not found. */
  readonly routes: Map<string, Route>;
  /** Requests in order: `GET /v2/a/tags/list?n=1000`. */
  readonly asked: string[];
  stop(): Promise<void>;
}

/** Starts a registry. The caller stops it. */
export async function startFakeRegistry(): Promise<FakeRegistry> {
  const routes = new Map<string, Route>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const route = routes.get(request.url!.split("?")[0]!);
    if (route === undefined) response.writeHead(404).end("{}");
    else route(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    routes,
    asked,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Starts a registry that stops with the test. */
export async function fakeRegistry(): Promise<FakeRegistry> {
  const registry = await startFakeRegistry();
  onTestFinished(() => registry.stop());
  return registry;
}

/** Answers JSON. */
export function json(value: unknown, headers: Record<string, string> = {}, status = 200): Route {
  return (_request, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
  };
}

/** The digest of content. */
export function digestOf(content: string | Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

/** Media types. */
export const types = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
} as const;

/** Stores a manifest under its digest, or the false digest `as`, and optionally a tag. */
export function putManifest(
  { routes }: FakeRegistry,
  repository: string,
  content: object,
  { tag, as, type = types.manifest }: { tag?: string; as?: string; type?: string } = {},
): string {
  const text = JSON.stringify(content);
  const digest = as ?? digestOf(text);
  const route: Route = (request, response) => {
    response.writeHead(200, { "content-type": type, "docker-content-digest": digest });
    response.end(request.method === "HEAD" ? "" : text);
  };
  routes.set(`/v2/${repository}/manifests/${digest}`, route);
  if (tag !== undefined) routes.set(`/v2/${repository}/manifests/${tag}`, route);
  return digest;
}

/** Makes a manifest of one platform and stores its configuration. Its size is 100 plus its layers. */
export function manifestFor(registry: FakeRegistry, repository: string, platform: object, ...layers: number[]): object {
  const config = JSON.stringify(platform);
  registry.routes.set(`/v2/${repository}/blobs/${digestOf(config)}`, (_request, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(config);
  });
  return {
    schemaVersion: 2,
    mediaType: types.manifest,
    config: { mediaType: types.config, digest: digestOf(config), size: 100 },
    layers: layers.map((size) => ({ mediaType: types.layer, digest: digestOf(String(size)), size })),
  };
}
