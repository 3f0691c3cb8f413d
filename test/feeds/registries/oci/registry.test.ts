import { describe, expect, it, test } from "vitest";
import {
  ContainerRegistry,
  RegistryFailure,
  type RegistryOptions,
  RegistryRefusal,
} from "../../../../src/feeds/index.ts";
import { digestOf, type FakeRegistry, fakeRegistry, json, manifestFor, putManifest, types } from "./fake-registry.ts";

function open(registry: FakeRegistry, options: RegistryOptions = {}) {
  return new ContainerRegistry(registry.url, { wait: async () => {}, ...options });
}

async function all(pages: AsyncIterable<readonly string[]> | undefined): Promise<string[]> {
  const names: string[] = [];
  for await (const page of pages ?? []) names.push(...page);
  return names;
}

/** The error of a rejected promise. */
async function failureOf(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => {
      throw new Error("it does not fail");
    },
    (error: Error) => error,
  );
}

describe("lists", () => {
  it("are read page by page, by Link, relative or at any origin of the same host", async () => {
    const registry = await fakeRegistry();
    const links = ['</v2/_catalog?last=b&n=2>; rel="next"', "<https://127.0.0.1/v2/_catalog?last=c>; rel=next"];
    registry.routes.set("/v2/_catalog", (request, response) => {
      const page = request.url!.includes("last=c") ? 2 : request.url!.includes("last=b") ? 1 : 0;
      const link = links[page];
      response.writeHead(200, link === undefined ? {} : { link });
      response.end(JSON.stringify({ repositories: [["a", "b"], ["c"], null][page] }));
    });
    expect(await all(open(registry).repositories())).toEqual(["a", "b", "c"]);
    expect(registry.asked).toEqual([
      "GET /v2/_catalog?n=1000",
      "GET /v2/_catalog?last=b&n=2",
      "GET /v2/_catalog?last=c",
    ]);
  });

  test.each([
    ["of a host behind a proxy", '<http://registry.internal:5000/v2/r/tags/list?last=b&n=2>; rel="next"'],
    ["of a path behind a proxy", "</internal/v2/r/tags/list?last=b&n=2>; rel=next"],
    ["without brackets", 'v2/r/tags/list?last=b&n=2; rel="next"'],
    ["in single quotes", "<?last=b&n=2>; title=\"a, b\"; rel='next'"],
    ["after another link", ['</v2/r/tags/list?n=2>; rel="first"', '</v2/r/tags/list?last=b&n=2>; rel="next"']],
  ])("are continued by a link %s", async (_, link) => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/r/tags/list", (request, response) => {
      const isNext = request.url!.includes("last=b");
      response.writeHead(200, isNext ? {} : { link });
      response.end(JSON.stringify({ tags: isNext ? ["c"] : ["a", "b"] }));
    });
    expect(await all(await open(registry).tags("r"))).toEqual(["a", "b", "c"]);
    expect(registry.asked[1]).toBe("GET /v2/r/tags/list?last=b&n=2");
  });

  it("are asked for in pages of the registry's size if it refuses ours", async () => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/r/tags/list", (request, response) => {
      if (request.url!.includes("n=1000"))
        json({ errors: [{ code: "PAGINATION_NUMBER_INVALID" }] }, {}, 400)(request, response);
      else json({ tags: ["a"] })(request, response);
    });
    expect(await all(await open(registry).tags("r"))).toEqual(["a"]);
  });

  it("have the tags of a repository; undefined for an unknown one", async () => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/team/app/tags/list", json({ name: "team/app", tags: ["v1", "v2"] }));
    registry.routes.set("/v2/empty/tags/list", json({ name: "empty", tags: null }));
    const reader = open(registry);
    expect(await all(await reader.tags("team/app"))).toEqual(["v1", "v2"]);
    expect(await all(await reader.tags("empty"))).toEqual([]);
    expect(await reader.tags("missing")).toBeUndefined();
  });

  it("are streamed: a page is yielded before the next is requested", async () => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/many/tags/list", (request, response) => {
      const page = Number(new URL(request.url!, "http://a").searchParams.get("page") ?? "0");
      const link = page < 99 ? { link: `</v2/many/tags/list?page=${page + 1}>; rel="next"` } : {};
      response.writeHead(200, link);
      response.end(JSON.stringify({ tags: Array.from({ length: 1000 }, (_, i) => `t${page * 1000 + i}`) }));
    });
    let count = 0;
    for await (const page of (await open(registry).tags("many"))!) {
      count += page.length;
      expect(registry.asked.length).toBeLessThanOrEqual(count / 1000 + 1);
    }
    expect(count).toBe(100_000);
  });

  test.each<[string, Parameters<typeof json>, string]>([
    ["that begin again", [{ tags: ["a"] }, { link: '</v2/r/tags/list?n=1000>; rel="next"' }], "does not end"],
    ["that are not a list", [{ tags: "a" }], "not a list of names"],
    ["of an invalid name", [{ tags: [1] }], "not a list of names"],
    ["that are compressed", [{ tags: [] }, { "content-encoding": "gzip" }], "compressed"],
  ])("%s are refused", async (_, [value, headers], reason) => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/r/tags/list", json(value, headers));
    const failure = await failureOf(open(registry).tags("r").then(all));
    expect(failure).toBeInstanceOf(RegistryRefusal);
    expect(failure.message).toContain(reason);
  });

  it("that never end are refused, with empty pages and with full ones", async () => {
    const registry = await fakeRegistry();
    let page = 0;
    const endless = (names: (n: number) => string[]) => (_: unknown, response: import("node:http").ServerResponse) => {
      page++;
      response.writeHead(200, { link: `</v2/r/tags/list?page=${page}>; rel="next"` });
      response.end(JSON.stringify({ tags: names(page) }));
    };
    registry.routes.set(
      "/v2/r/tags/list",
      endless(() => []),
    );
    expect((await failureOf(open(registry).tags("r").then(all))).message).toContain("does not end");
    expect(page).toBeLessThan(200);
    registry.routes.set(
      "/v2/r/tags/list",
      endless((n) => [`t${n}`]),
    );
    expect((await failureOf(open(registry).tags("r").then(all))).message).toContain("does not end");
    expect(page).toBeLessThan(11_000);
  });

  it("larger than 8 MiB are not read to their end", async () => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/r/tags/list", (_, response) => {
      const block = Buffer.alloc(1024 * 1024, " ");
      const write = () => {
        while (!response.destroyed && response.write(block));
      };
      response.on("drain", write).on("error", () => {});
      write();
    });
    const failure = await failureOf(open(registry).tags("r"));
    expect(failure).toBeInstanceOf(RegistryRefusal);
    expect(failure.message).toContain("larger than");
  });
});

describe("images", () => {
  it("are read from an index, its manifests, and a configuration if the index names no platform", async () => {
    const registry = await fakeRegistry();
    const amd64 = manifestFor(registry, "r", { architecture: "amd64", os: "linux" }, 10, 20);
    const arm = manifestFor(registry, "r", { architecture: "arm", variant: "v7", os: "linux" }, 5);
    const attestation = manifestFor(registry, "r", {}, 1);
    const [first, second, third] = [amd64, arm, attestation].map((manifest) =>
      putManifest(registry, "r", manifest),
    ) as [string, string, string];
    const entry = { mediaType: types.manifest, size: 1 };
    const index = putManifest(
      registry,
      "r",
      {
        schemaVersion: 2,
        manifests: [
          { ...entry, digest: first, platform: { architecture: "amd64", os: "linux" } },
          { ...entry, digest: second },
          { ...entry, digest: third, platform: { architecture: "unknown", os: "unknown" } },
          { ...entry, digest: digestOf("nowhere"), platform: { architecture: "s390x", os: "linux" } },
        ],
      },
      { tag: "latest", type: types.index },
    );
    const reader = open(registry);
    expect(await reader.resolveDigest("r", "latest")).toBe(index);
    const platforms = [
      { architecture: "amd64", variant: "", os: "linux", digest: first, size: 130 },
      { architecture: "arm", variant: "v7", os: "linux", digest: second, size: 105 },
    ];
    expect(await reader.images("r", index)).toEqual([
      { digest: index, mediaType: types.index, platforms, attestations: [] },
      { digest: first, mediaType: types.manifest, platforms: platforms.slice(0, 1), attestations: [] },
      { digest: second, mediaType: types.manifest, platforms: platforms.slice(1), attestations: [] },
    ]);
    expect(await reader.images("r", second)).toEqual([
      { digest: second, mediaType: types.manifest, platforms: platforms.slice(1), attestations: [] },
    ]);
    expect(await reader.images("r", digestOf("nowhere"))).toBeUndefined();
  });

  it("may have null for no layers", async () => {
    const registry = await fakeRegistry();
    const content = { architecture: "arm64", os: "linux" };
    const config = { mediaType: types.config, digest: digestOf(JSON.stringify(content)), size: 30 };
    registry.routes.set(`/v2/r/blobs/${config.digest}`, json(content));
    const digest = putManifest(registry, "r", { config, layers: null });
    const [image] = (await open(registry).images("r", digest))!;
    expect(image!.platforms).toEqual([{ ...content, variant: "", digest, size: 30 }]);
  });

  it("that are not of a platform, such as signatures, have none", async () => {
    const registry = await fakeRegistry();
    const config = { mediaType: "application/vnd.oci.empty.v1+json", digest: digestOf("{}"), size: 2 };
    const digest = putManifest(registry, "r", { schemaVersion: 2, config, layers: [] });
    expect(await open(registry).images("r", digest)).toEqual([
      { digest, mediaType: types.manifest, platforms: [], attestations: [] },
    ]);
  });

  it("have the digest of their content if the registry sends none", async () => {
    const registry = await fakeRegistry();
    const text = JSON.stringify({ schemaVersion: 2 });
    registry.routes.set("/v2/r/manifests/v1", (request, response) => {
      response.writeHead(200, { "content-type": types.manifest }).end(request.method === "HEAD" ? "" : text);
    });
    expect(await open(registry).resolveDigest("r", "v1")).toBe(digestOf(text));
    expect(await open(registry).resolveDigest("r", "v2")).toBeUndefined();
  });

  const descriptor = { mediaType: types.layer, digest: digestOf("a"), size: 1 };
  const config = { ...descriptor, mediaType: types.config };
  const schema1 = "application/vnd.docker.distribution.manifest.v1+prettyjws";
  const artifact = "application/vnd.oci.artifact.manifest.v1+json";
  const odd = "application/vnd.example.thing+json";
  test.each<[string, object, string, string]>([
    ["without layers", { config }, types.manifest, types.manifest],
    ["without a configuration", { layers: [] }, types.manifest, types.manifest],
    ["with a digest of another kind", { config: { ...config, digest: "sha512:00" } }, types.manifest, types.manifest],
    ["with a negative size", { config, layers: [{ ...descriptor, size: -1 }] }, types.manifest, types.manifest],
    [
      "with a size that is not a number",
      { config, layers: [{ ...descriptor, size: "1" }] },
      types.manifest,
      types.manifest,
    ],
    [
      "with sizes beyond counting",
      { config, layers: Array.from({ length: 3 }, () => ({ ...descriptor, size: Number.MAX_SAFE_INTEGER })) },
      types.manifest,
      types.manifest,
    ],
    ["of Docker's first schema", { schemaVersion: 1, architecture: "amd64" }, schema1, schema1],
    ["that is an artifact manifest", { mediaType: artifact, blobs: [] }, artifact, artifact],
    ["of an unknown type", { mediaType: odd }, odd, odd],
    ["without a type", { config }, "application/json", types.manifest],
    ["whose type is not one", { mediaType: 7 }, "text", "application/octet-stream"],
    ["that is an index without manifests", { manifests: {} }, types.index, types.index],
    [
      "that is an index of what is not a manifest",
      { manifests: [descriptor, { digest: "sha512:00" }, 7] },
      "application/json",
      types.index,
    ],
  ])("%s have a digest and a type alone", async (_, content, type, expected) => {
    const registry = await fakeRegistry();
    const digest = putManifest(registry, "r", content, { type });
    expect(await open(registry).images("r", digest)).toEqual([
      { digest, mediaType: expected, platforms: [], attestations: [] },
    ]);
  });

  it("have no platform where the configuration names none, or is missing", async () => {
    const registry = await fakeRegistry();
    const platforms: object[] = [{}, { architecture: "unknown", os: "unknown" }, { architecture: "a b" }];
    for (const platform of platforms) {
      const digest = putManifest(registry, "r", manifestFor(registry, "r", platform, 1));
      expect(await open(registry).images("r", digest)).toEqual([
        { digest, mediaType: types.manifest, platforms: [], attestations: [] },
      ]);
    }
    const digest = putManifest(registry, "r", { config, layers: [] });
    expect(await open(registry).images("r", digest)).toEqual([
      { digest, mediaType: types.manifest, platforms: [], attestations: [] },
    ]);
  });

  it("of Docker's first schema keep the digest that the registry sends, which is not that of the signed content", async () => {
    const registry = await fakeRegistry();
    const as = digestOf("the content without its signature");
    putManifest(registry, "r", { schemaVersion: 1, signatures: [] }, { tag: "old", type: schema1, as });
    expect(await open(registry).resolveDigest("r", "old")).toBe(as);
    expect(await open(registry).images("r", as)).toEqual([
      { digest: as, mediaType: schema1, platforms: [], attestations: [] },
    ]);
  });

  it("of an index in an index are those of the inner one, up to 200", async () => {
    const registry = await fakeRegistry();
    const inner = putManifest(registry, "r", manifestFor(registry, "r", { architecture: "arm64", os: "linux" }, 1));
    const entry = (digest: string, mediaType: string) => ({ digest, mediaType, size: 1 });
    const type = types.index;
    const nested = putManifest(registry, "r", { manifests: [entry(inner, types.manifest)] }, { type });
    const outer = putManifest(registry, "r", { manifests: [entry(nested, type)] }, { type });
    const platforms = [{ architecture: "arm64", variant: "", os: "linux", digest: inner, size: 101 }];
    expect(await open(registry).images("r", outer)).toEqual([
      { digest: outer, mediaType: type, platforms, attestations: [] },
      { digest: inner, mediaType: types.manifest, platforms, attestations: [] },
    ]);
    const missing = entry(digestOf("nowhere"), types.manifest);
    const large = putManifest(registry, "r", { manifests: Array(500).fill(missing) }, { type });
    registry.asked.length = 0;
    expect(await open(registry).images("r", large)).toEqual([
      { digest: large, mediaType: type, platforms: [], attestations: [] },
    ]);
    expect(registry.asked).toHaveLength(201);
  });

  it("whose content does not match their digest are refused, also configurations", async () => {
    const registry = await fakeRegistry();
    const good = manifestFor(registry, "r", { architecture: "amd64" }, 1);
    const wrong = putManifest(registry, "r", good, { as: digestOf("something else") });
    expect((await failureOf(open(registry).images("r", wrong))).message).toContain("the content does not match");
    const digest = putManifest(registry, "r", good);
    for (const path of registry.routes.keys())
      if (path.includes("/blobs/")) registry.routes.set(path, json({ architecture: "arm64" }));
    expect((await failureOf(open(registry).images("r", digest))).message).toContain("the content does not match");
  });

  it("larger than 4 MiB are refused", async () => {
    const registry = await fakeRegistry();
    const huge = putManifest(registry, "r", { config, layers: [], padding: "x".repeat(5 * 1024 * 1024) });
    expect((await failureOf(open(registry).images("r", huge))).message).toContain("larger than");
  });
});

describe("authorization", () => {
  const credentials = { username: "reader", password: "secret:with:colons" };
  const basic = `Basic ${Buffer.from("reader:secret:with:colons").toString("base64")}`;

  it("is basic if the registry requires it, and challenged once", async () => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/r/tags/list", (request, response) => {
      if (request.headers.authorization !== basic)
        response.writeHead(401, { "www-authenticate": 'Basic realm="r"' }).end();
      else response.end(JSON.stringify({ tags: ["a"] }));
    });
    const reader = open(registry, { credentials });
    expect(await all(await reader.tags("r"))).toEqual(["a"]);
    await reader.tags("r");
    expect(registry.asked).toHaveLength(3);
    const failure = await failureOf(open(registry).tags("r"));
    expect(failure).toBeInstanceOf(RegistryFailure);
    expect(failure.message).toBe("the registry requires credentials");
    const wrong = await failureOf(open(registry, { credentials: { ...credentials, password: "x" } }).tags("r"));
    expect(wrong.message).toBe("the registry rejects the credentials");
  });

  it("is a token for each repository, from the issuer named by the registry, renewed when it is rejected", async () => {
    const registry = await fakeRegistry();
    const issued: URLSearchParams[] = [];
    registry.routes.set("/token", (request, response) => {
      if (request.headers.authorization !== basic) return response.writeHead(401).end();
      const { searchParams } = new URL(request.url!, registry.url);
      issued.push(searchParams);
      return response.end(JSON.stringify({ token: `t${issued.length}`, expires_in: 300 }));
    });
    let accepted = "Bearer t1";
    for (const repository of ["a", "b"])
      registry.routes.set(`/v2/${repository}/tags/list`, (request, response) => {
        if (request.headers.authorization === accepted) return response.end(JSON.stringify({ tags: [repository] }));
        const realm = `Bearer realm="${registry.url}/token",service="registry",scope="repository:everything:*"`;
        return response.writeHead(401, { "www-authenticate": realm }).end();
      });
    const reader = open(registry, { credentials });
    expect(await all(await reader.tags("a"))).toEqual(["a"]);
    await Promise.all([reader.tags("a"), reader.tags("a")]);
    expect(issued).toHaveLength(1);
    accepted = "Bearer t2";
    expect(await all(await reader.tags("b"))).toEqual(["b"]);
    expect(issued.map((query) => [query.get("service"), query.get("scope")])).toEqual([
      ["registry", "repository:a:pull"],
      ["registry", "repository:b:pull"],
    ]);
    accepted = "Bearer t3";
    expect(await all(await reader.tags("a"))).toEqual(["a"]);
  });

  test.each([
    ["at a private address", 'Bearer realm="http://10.0.0.1/token",service="s"', "not https"],
    ["at a private address with TLS", 'Bearer realm="https://169.254.169.254/token"', "not public"],
    ["at another loopback address", 'Bearer realm="https://[::1]/token"', "not public"],
    ["that is not a URL", 'Bearer realm="nowhere"', "not a valid URL"],
    ["of another scheme", 'Bearer realm="file:///etc/passwd"', "not a valid URL"],
  ])("is refused from an issuer %s", async (_, challenge, reason) => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/r/tags/list", json({}, { "www-authenticate": challenge }, 401));
    const failure = await failureOf(open(registry, { credentials }).tags("r"));
    expect(failure).toBeInstanceOf(RegistryRefusal);
    expect(failure.message).toContain(reason);
  });

  test.each<[string, Parameters<typeof json>, string]>([
    ["has none", [{}], "has no token"],
    ["has one that is invalid in a header", [{ token: "a\r\nb" }], "has no token"],
    ["refuses", [{}, {}, 403], "issues no token for repository:r:pull: 403"],
  ])("fails where the issuer %s", async (_, answer, reason) => {
    const registry = await fakeRegistry();
    registry.routes.set("/token", json(...answer));
    registry.routes.set(
      "/v2/r/tags/list",
      json({}, { "www-authenticate": `Bearer realm="${registry.url}/token"` }, 401),
    );
    expect((await failureOf(open(registry).tags("r"))).message).toContain(reason);
  });
});

describe("redirects", () => {
  it("are followed on the same host, without credentials to another port", async () => {
    const [registry, storage] = [await fakeRegistry(), await fakeRegistry()];
    const manifest = manifestFor(registry, "r", { architecture: "amd64" }, 1);
    const digest = putManifest(registry, "r", manifest);
    for (const [path, route] of registry.routes) {
      if (!path.includes("/blobs/")) continue;
      registry.routes.set(path, (request, response) => {
        if (request.headers.authorization === undefined) response.writeHead(401, { "www-authenticate": "Basic" }).end();
        else response.writeHead(307, { location: `${storage.url}/blob` }).end();
      });
      storage.routes.set("/blob", (request, response) => {
        if (request.headers.authorization === undefined) route(request, response);
        else response.writeHead(400).end();
      });
    }
    const reader = open(registry, { credentials: { username: "a", password: "b" } });
    expect((await reader.images("r", digest))?.[0]?.platforms).toMatchObject([{ architecture: "amd64" }]);
  });

  test.each([
    ["to a private address", "https://10.1.2.3/blob", "not public"],
    ["to the address of cloud metadata", "http://169.254.169.254/latest/meta-data", "not https"],
    ["to a name that means this host", "https://localhost/blob", "not public"],
    ["in a circle", "/v2/r/tags/list", "redirects more than"],
    ["to an invalid URL", "http://[", "an invalid URL"],
    ["to another scheme", "ftp://127.0.0.1/blob", "an invalid URL"],
  ])("%s are refused", async (_, location, reason) => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/r/tags/list", json({}, { location }, 302));
    const failure = await failureOf(open(registry).tags("r"));
    expect(failure).toBeInstanceOf(RegistryRefusal);
    expect(failure.message).toContain(reason);
  });
});

describe("a temporary failure", () => {
  it("is retried after Retry-After, or with growing delays", async () => {
    const registry = await fakeRegistry();
    const answers = [429, 503, 200];
    const waits: number[] = [];
    registry.routes.set("/v2/r/tags/list", (_, response) => {
      const status = answers.shift()!;
      response.writeHead(status, status === 429 ? { "retry-after": "7" } : {});
      response.end(JSON.stringify({ tags: ["a"] }));
    });
    const reader = new ContainerRegistry(registry.url, { wait: async (ms) => void waits.push(ms) });
    expect(await all(await reader.tags("r"))).toEqual(["a"]);
    expect(waits).toHaveLength(2);
    expect(waits[0]).toBe(7000);
    expect(waits[1]).toBeGreaterThanOrEqual(500);
    expect(waits[1]).toBeLessThanOrEqual(1000);
  });

  it("fails after the last attempt, and never waits longer than a minute", async () => {
    const registry = await fakeRegistry();
    const waits: number[] = [];
    registry.routes.set("/v2/r/tags/list", json({}, { "retry-after": "86400" }, 429));
    const failure = await failureOf(
      new ContainerRegistry(registry.url, { wait: async (ms) => void waits.push(ms) }).tags("r"),
    );
    expect(failure).toBeInstanceOf(RegistryFailure);
    expect(waits).toEqual([60_000, 60_000, 60_000, 60_000]);
    expect(registry.asked).toHaveLength(5);
  });

  it("is an unreachable registry, and a closed connection", async () => {
    const registry = await fakeRegistry();
    registry.routes.set("/v2/r/tags/list", (_, response) => response.destroy());
    expect(await failureOf(open(registry, { maxAttempts: 2 }).tags("r"))).toBeInstanceOf(RegistryFailure);
    expect(registry.asked).toHaveLength(2);
    const nowhere = new ContainerRegistry("http://127.0.0.1:1", { wait: async () => {} });
    expect(await failureOf(nowhere.resolveDigest("r", "v1"))).toBeInstanceOf(RegistryFailure);
  });
});

test.each(["ftp://host", "registry", "https://user:pass@host", "https://host/?a=b"])(
  "%s is not a valid address",
  (address) => {
    expect(() => new ContainerRegistry(address)).toThrow(RegistryRefusal);
  },
);

describe("referrers", () => {
  const subject = digestOf("an image");
  const path = `/v2/r/referrers/${subject}`;

  test.each([400, 404, 405, 406, 501])("are unknown to a registry that answers %i", async (status) => {
    const registry = await fakeRegistry();
    registry.routes.set(path, json({}, {}, status));
    expect(await open(registry).referrers("r", subject)).toBeUndefined();
  });

  it("are unknown to a registry that answers any path with a page", async () => {
    const registry = await fakeRegistry();
    registry.routes.set(path, (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"));
    expect(await open(registry).referrers("r", subject)).toBeUndefined();
  });

  it("that may not be read are refused", async () => {
    const registry = await fakeRegistry();
    registry.routes.set(path, json({}, {}, 403));
    expect(await failureOf(open(registry).referrers("r", subject))).toBeInstanceOf(RegistryRefusal);
  });

  it("are those that may hold a bill of materials, by their types", async () => {
    const registry = await fakeRegistry();
    const bundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
    const predicate = (type: string) => ({ annotations: { "dev.sigstore.bundle.predicateType": type } });
    const listed: [string, object][] = [
      ["spdx", { artifactType: "application/spdx+json" }],
      ["cyclonedx", { artifactType: "application/vnd.cyclonedx+json" }],
      ["cosign", { artifactType: "application/vnd.dev.cosign.artifact.sbom.v1+json" }],
      ["in-toto", { artifactType: "application/vnd.in-toto+json" }],
      ["dsse", { artifactType: "application/vnd.in-toto.spdx+dsse" }],
      ["bundle", { artifactType: bundle }],
      ["bundled", { artifactType: bundle, ...predicate("https://spdx.dev/Document/v2.3") }],
      ["nameless", {}],
    ];
    const others: [string, object][] = [
      ["signature", { artifactType: "application/vnd.cncf.notary.signature" }],
      ["provenance", { artifactType: bundle, ...predicate("https://slsa.dev/provenance/v1") }],
      ["syft", { artifactType: "application/vnd.syft+json" }],
      ["xml", { artifactType: "application/vnd.cyclonedx+xml" }],
    ];
    const manifests = [...listed, ...others].map(([name, more]) => ({
      ...{ mediaType: types.manifest, digest: digestOf(name), size: 1 },
      ...more,
    }));
    registry.routes.set(path, json({ mediaType: types.index, manifests }));
    expect(await all((await open(registry).referrers("r", subject))!)).toEqual(listed.map(([name]) => digestOf(name)));
  });
});

describe("artifacts", () => {
  it("have the layers that may be bills of materials, and say which are declared to be", async () => {
    const registry = await fakeRegistry();
    const inToto = "application/vnd.in-toto+json";
    const layer = (mediaType: string, predicateType?: string) => ({
      ...{ mediaType, digest: digestOf(`${mediaType} ${predicateType}`), size: 7 },
      ...(predicateType && { annotations: { "in-toto.io/predicate-type": predicateType } }),
    });
    const declared = [layer("text/spdx+json"), layer(inToto, "https://spdx.dev/Document")];
    const layers = [layer(inToto, "https://slsa.dev/provenance/v0.2"), ...declared, layer(inToto), layer(types.layer)];
    const manifest = { mediaType: types.manifest, config: { ...layer(types.config), size: 2 }, layers };
    const digest = putManifest(registry, "r", manifest);
    const documentOf = ({ digest: of, size, mediaType }: ReturnType<typeof layer>, isDeclared: boolean) => ({
      ...{ digest: of, size, mediaType },
      isDeclared,
    });
    const documents = [...declared.map((each) => documentOf(each, true)), documentOf(layer(inToto), false)];
    expect(await open(registry).artifact("r", digest)).toEqual({ manifests: [], documents });
    expect(await open(registry).artifact("r", digestOf("nowhere"))).toBeUndefined();
    expect((await failureOf(open(registry).document("r", documents[0]!, 100))).message).toContain("does not have it");
    expect((await failureOf(open(registry).document("r", documents[0]!, 6))).message).toContain("larger than 6 bytes");
  });
});
