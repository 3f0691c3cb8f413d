/** Bills of materials that a registry has of its images: imported with them, and answered for by reports. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { readImages, removeImage, saveImage } from "../../src/services/index.ts";
import { runHere } from "../cli/run-here.ts";
import {
  digestOf,
  type FakeRegistry,
  json,
  manifestFor,
  putManifest,
  startFakeRegistry,
  types,
} from "../feeds/registries/oci/fake-registry.ts";
import type { Json } from "./contract.ts";
import { importDocuments } from "./feed-fixtures.ts";
import { freshName, makeGroup } from "./fixtures.ts";
import { onEveryServer } from "./platform.ts";

const secret = "a-shared-secret-of-the-registry";
const inToto = "application/vnd.in-toto+json";
const dsse = "application/vnd.dsse.envelope.v1+json";
const bundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
const cycloneDxType = "application/vnd.cyclonedx+json";
const spdxPredicate = "https://spdx.dev/Document";
const provenance = "https://slsa.dev/provenance/v1";
const empty = { mediaType: "application/vnd.oci.empty.v1+json", digest: digestOf("{}"), size: 2 };
const names = ["a", "b", "c", "d"] as const;

onEveryServer("bills of materials in a registry", (platform) => {
  let registry: FakeRegistry;
  let group: string;
  let repository: string;
  let tags: string[];
  /** The artifacts that refer to a digest, for registries with the referrers API. */
  let referrers: Map<string, object[]>;

  beforeAll(async () => {
    registry = await startFakeRegistry();
    group = (await makeGroup(platform())).uid;
    await platform().restart({ registryUrl: registry.url, registryGroup: group, registrySecret: secret });
    // A package of each name is fixed on one day.
    for (const name of names) {
      const id = `${name}-of-registries`;
      const timestamp = timestampFromDate(new Date("2026-03-01T12:00:00Z"));
      const events = [{ timestamp, data: { case: "fixed" as const, value: { fixedVersion: "1.0-r0" } } }];
      await importDocuments(platform(), {
        id,
        advisories: [{ id: `ADV-${name}`, packageUrl: `pkg:apk/${id}`, events }],
      });
    }
  });
  afterAll(() => registry?.stop());
  beforeEach(() => {
    repository = freshName("repo");
    tags = [];
    referrers = new Map();
    registry.asked.length = 0;
    registry.routes.set(`/v2/${repository}/tags/list`, (request, response) => json({ tags })(request, response));
  });

  function importRegistry(...more: string[]) {
    const args = ["import", "registry", registry.url, "--group", group, "--repo", repository];
    return runHere([...args, "--database", platform().databaseUrl, "--json", ...more]);
  }

  async function summaryOf(...more: string[]): Promise<Json> {
    registry.asked.length = 0;
    const run = await importRegistry(...more);
    expect(run, run.stderr).toMatchObject({ code: 0 });
    return JSON.parse(run.stdout);
  }

  /** Stores a document, and returns its descriptor. */
  function putBlob(content: unknown, mediaType: string, annotations?: object): Json {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    const digest = digestOf(text);
    registry.routes.set(`/v2/${repository}/blobs/${digest}`, (_, response) => {
      response.writeHead(200, { "content-type": "application/octet-stream" }).end(text);
    });
    return { mediaType, digest, size: Buffer.byteLength(text), ...(annotations && { annotations }) };
  }

  function putTag(tag: string, manifest: object, type: string = types.manifest): string {
    if (!tags.includes(tag)) tags.push(tag);
    return putManifest(registry, repository, manifest, { tag, type });
  }

  /** Stores an image of one platform. */
  function putImage(architecture: string, size: number): string {
    const platform = { architecture, os: "linux" };
    return putManifest(registry, repository, manifestFor(registry, repository, platform, size));
  }

  /** Tags an image of one platform. */
  function putTaggedImage(size: number): string {
    return putTag("latest", manifestFor(registry, repository, { architecture: "amd64", os: "linux" }, size));
  }

  function entry(digest: string, architecture: string, annotations?: object) {
    const platform = { architecture, os: architecture === "unknown" ? "unknown" : "linux" };
    return { mediaType: types.manifest, digest, size: 1, platform, ...(annotations && { annotations }) };
  }

  /** Stores an attestation manifest as BuildKit does, and returns its entry in the index. */
  function attest(subject: string, ...layers: Json[]) {
    const config = { mediaType: types.config, digest: digestOf("{}"), size: 2 };
    const digest = putManifest(registry, repository, { mediaType: types.manifest, config, layers });
    const annotations = {
      "vnd.docker.reference.type": "attestation-manifest",
      "vnd.docker.reference.digest": subject,
    };
    return entry(digest, "unknown", annotations);
  }

  /** Stores an artifact that refers to an image, and lists it. */
  function refer(subject: string, artifactType: string, layers: Json[], annotations?: object): string {
    const manifest = {
      schemaVersion: 2,
      mediaType: types.manifest,
      artifactType,
      config: empty,
      layers,
      subject: { mediaType: types.manifest, digest: subject, size: 1 },
      ...(annotations && { annotations }),
    };
    const digest = putManifest(registry, repository, manifest);
    const listed = { mediaType: types.manifest, digest, size: 1, artifactType, ...(annotations && { annotations }) };
    referrers.set(subject, [...(referrers.get(subject) ?? []), listed]);
    return digest;
  }

  /** Opens the referrers API, with pages of one artifact. */
  function openReferrersApi(...subjects: string[]): void {
    for (const subject of subjects) {
      const path = `/v2/${repository}/referrers/${subject}`;
      registry.routes.set(path, (request, response) => {
        const all = referrers.get(subject) ?? [];
        const at = Number(new URL(request.url!, "http://a").searchParams.get("at") ?? "0");
        const link = at + 1 < all.length ? { link: `<${path}?at=${at + 1}>; rel="next"` } : {};
        response.writeHead(200, { "content-type": types.index, ...link });
        response.end(JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests: all.slice(at, at + 1) }));
      });
    }
  }

  const purlOf = (name: string, version = "1.0-r0") => `pkg:apk/wolfi/${name}-of-registries@${version}`;

  function spdx(...listed: string[]) {
    const packages = listed.map((name) => ({
      SPDXID: `SPDXRef-${name}`,
      name,
      externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purlOf(name) }],
    }));
    return { spdxVersion: "SPDX-2.3", SPDXID: "SPDXRef-DOCUMENT", packages };
  }

  function cycloneDx(...listed: string[]) {
    const components = listed.map((name) => ({ type: "library", name, version: "1.0-r0", purl: purlOf(name) }));
    return { bomFormat: "CycloneDX", specVersion: "1.6", components };
  }

  function statement(predicateType: string, predicate: unknown) {
    return { _type: "https://in-toto.io/Statement/v1", predicateType, subject: [], predicate };
  }

  function envelope(content: object) {
    const payload = Buffer.from(JSON.stringify(content)).toString("base64");
    return { payloadType: inToto, payload, signatures: [{ sig: "c2ln" }] };
  }

  /** What is fixed in the packages of a tag, by the name of the package; undefined if they are not known. */
  async function fixedIn(tag = "latest"): Promise<string | undefined> {
    const request = {
      startTime: "2026-03-01T00:00:00.000Z",
      endTime: "2026-03-01T00:00:00.000Z",
      images: [`${repository}:${tag}`],
    };
    const { repos } = await platform().ok("ListRepos", { name: repository });
    if (repos.length === 0) return undefined;
    const outcome = await platform().call("ListResolvedVulnsReports", request);
    if (!outcome.ok) {
      await platform().refused("ListResolvedVulnsReports", request, "FAILED_PRECONDITION");
      return undefined;
    }
    return outcome.message.resolvedVulnsReports[0].resolvedVulns.map(({ id }: Json) => id.replace("ADV-", "")).join("");
  }

  const blobs = () => registry.asked.filter((line) => line.includes("/blobs/"));

  it("are read from BuildKit's attestations of the platforms of an index, and the second time not at all", async () => {
    const [amd64, arm64] = [putImage("amd64", 1), putImage("arm64", 2)];
    const predicate = (type: string) => ({ "in-toto.io/predicate-type": type });
    const provenanceLayer = putBlob(statement(provenance, {}), inToto, predicate(provenance));
    const attested = [
      attest(
        amd64,
        provenanceLayer,
        putBlob(statement(spdxPredicate, spdx("a", "b")), inToto, predicate(spdxPredicate)),
      ),
      attest(arm64, putBlob(statement(spdxPredicate, spdx("a", "c")), inToto, predicate(spdxPredicate))),
    ];
    const manifests = [entry(amd64, "amd64"), entry(arm64, "arm64"), ...attested];
    putTag("latest", { schemaVersion: 2, mediaType: types.index, manifests }, types.index);
    tags.push("same");
    registry.routes.set(`/v2/${repository}/manifests/same`, registry.routes.get(`/v2/${repository}/manifests/latest`)!);
    expect(await summaryOf()).toMatchObject({ refused: 0, sboms: { added: 2, changed: 0, unchanged: 0, unread: 0 } });
    expect(await fixedIn()).toBe("abc");
    expect(blobs()).not.toContain(`GET /v2/${repository}/blobs/${provenanceLayer.digest}`);

    expect(await summaryOf()).toMatchObject({ sboms: { added: 0, changed: 0, unchanged: 2, removed: 0 } });
    expect(registry.asked).toHaveLength(1 + 2 + 3); // the list of tags, the tags, and referrers of three digests
    expect(blobs()).toEqual([]);
    expect(await fixedIn("same")).toBe("abc");
  });

  it("in attestations of several indexes about one platform are those of the platform, by any tag", async () => {
    const amd64 = putImage("amd64", 12);
    const indexOf = (tag: string, name: string) => {
      const attestation = attest(amd64, putBlob(statement(spdxPredicate, spdx(name)), inToto));
      const manifests = [entry(amd64, "amd64"), attestation];
      return putTag(tag, { schemaVersion: 2, mediaType: types.index, manifests }, types.index);
    };
    indexOf("v1", "a");
    indexOf("v2", "b");
    tags.push("alone");
    registry.routes.set(
      `/v2/${repository}/manifests/alone`,
      registry.routes.get(`/v2/${repository}/manifests/${amd64}`)!,
    );
    expect(await summaryOf()).toMatchObject({ sboms: { added: 1 } });
    for (const tag of ["v1", "v2", "alone"]) expect(await fixedIn(tag)).toBe("ab");
    // The attestation of an index without a tag is still about the platform.
    tags = ["v2", "alone"];
    expect(await summaryOf("--prune")).toMatchObject({ removed: 1, sboms: { unchanged: 1, changed: 0, removed: 0 } });
    expect(await fixedIn("alone")).toBe("ab");
  });

  it("are read from referrers of the index and of a platform, page by page", async () => {
    const [amd64, arm64] = [putImage("amd64", 1), putImage("arm64", 2)];
    const manifests = [entry(amd64, "amd64"), entry(arm64, "arm64")];
    const index = putTag("latest", { schemaVersion: 2, mediaType: types.index, manifests }, types.index);
    openReferrersApi(index, amd64, arm64);
    const signature = { mediaType: bundle, messageSignature: { signature: "c2ln" } };
    refer(index, bundle, [putBlob(signature, bundle)]);
    const unread = [
      refer(index, "application/vnd.cncf.notary.signature", [putBlob("{}", "application/jose+json")]),
      refer(index, bundle, [putBlob("{ not read", bundle)], { "dev.sigstore.bundle.predicateType": provenance }),
    ];
    refer(index, cycloneDxType, [putBlob(cycloneDx("a"), cycloneDxType)]);
    const attested = { mediaType: bundle, dsseEnvelope: envelope(statement(`${spdxPredicate}/v2.3`, spdx("b"))) };
    refer(amd64, bundle, [putBlob(attested, bundle)]);
    refer(arm64, "application/spdx+json", [putBlob(spdx("c"), "application/spdx+json")]);
    refer(arm64, inToto, [putBlob(envelope(statement("https://cyclonedx.org/bom", cycloneDx("d"))), dsse)]);
    expect(await summaryOf()).toMatchObject({ refused: 0, sboms: { added: 3 } });
    expect(await fixedIn()).toBe("abcd");
    for (const digest of unread) expect(registry.asked.join()).not.toContain(digest);

    expect(await summaryOf()).toMatchObject({ sboms: { added: 0, changed: 0, unchanged: 3 } });
    expect(blobs()).toEqual([]);
    expect(registry.asked.filter((line) => line.includes("/manifests/sha256:"))).toEqual([]);
  });

  it("are read from the referrers tag in registries without the referrers API", async () => {
    const image = putTaggedImage(3);
    refer(image, cycloneDxType, [putBlob(cycloneDx("a"), cycloneDxType)]);
    const tag = image.replace(":", "-");
    const putList = () =>
      putTag(tag, { schemaVersion: 2, mediaType: types.index, manifests: referrers.get(image) }, types.index);
    putList();
    expect(await summaryOf()).toMatchObject({ added: 3, refused: 0, sboms: { added: 1 } });
    expect(await fixedIn()).toBe("a");
    expect(await summaryOf()).toMatchObject({ sboms: { unchanged: 1 } });
    expect(blobs()).toEqual([]);
    refer(image, "application/spdx+json", [putBlob(spdx("b"), "application/spdx+json")]);
    putList();
    expect(await summaryOf()).toMatchObject({ changed: 1, sboms: { changed: 1 } });
    expect(await fixedIn()).toBe("ab");
  });

  it("are read from cosign's tags, which replace what they have had before", async () => {
    const image = putTaggedImage(4);
    const tag = image.replace(":", "-");
    const config = { mediaType: types.config, digest: digestOf("{}"), size: 2 };
    putTag(`${tag}.sig`, { schemaVersion: 2, config, layers: [] });
    putTag(`${tag}.sbom`, { schemaVersion: 2, config, layers: [putBlob(spdx("a"), "text/spdx+json")] });
    const scan = putBlob(envelope(statement("https://cosign.sigstore.dev/attestation/vuln/v1", { scanner: {} })), dsse);
    const sbom = (predicate: object, predicateType: string) =>
      putBlob(envelope(statement(predicateType, predicate)), dsse, { predicateType });
    const layers = [scan, sbom({ Data: JSON.stringify(cycloneDx("b")) }, "https://cyclonedx.org/bom")];
    putTag(`${tag}.att`, { schemaVersion: 2, config, layers });
    expect(await summaryOf()).toMatchObject({ added: 5, refused: 0, sboms: { added: 1 } });
    expect(await fixedIn()).toBe("ab");
    expect(await summaryOf()).toMatchObject({ unchanged: 5, sboms: { unchanged: 1 } });
    expect(blobs()).toEqual([]);
    putTag(`${tag}.att`, { schemaVersion: 2, config, layers: [sbom(spdx("c"), spdxPredicate)] });
    expect(await summaryOf()).toMatchObject({ changed: 1, sboms: { changed: 1 } });
    expect(await fixedIn()).toBe("ac");
  });

  it("that are broken are refused alone, each time, and what is stored of them stays", async () => {
    const image = putTaggedImage(5);
    openReferrersApi(image);
    const good = putBlob(cycloneDx("a"), cycloneDxType);
    const wrong = putBlob("{", cycloneDxType);
    const other = putBlob({ hello: "world" }, "application/spdx+json");
    const huge = { ...good, size: 2 ** 40 };
    const forged = { ...good, digest: digestOf("something else") };
    registry.routes.set(
      `/v2/${repository}/blobs/${forged.digest}`,
      registry.routes.get(`/v2/${repository}/blobs/${good.digest}`)!,
    );
    for (const layer of [wrong, other, huge, forged]) refer(image, layer.mediaType, [layer]);
    refer(image, inToto, [putBlob(statement(provenance, {}), inToto)]); // not one, and not refused
    refer(image, cycloneDxType, [good, putBlob({ ...cycloneDx("b"), components: [{}] }, cycloneDxType)]);
    for (const sboms of [{ added: 1 }, { unchanged: 1 }]) {
      const run = await importRegistry();
      expect(run.code).toBe(1);
      expect(JSON.parse(run.stdout)).toMatchObject({ refused: 5, sboms: { ...sboms, removed: 0 } });
      for (const reason of [
        `${wrong.digest}: is not JSON`,
        `${other.digest}: is neither SPDX nor CycloneDX`,
        "is larger than",
        `${forged.digest}: the content does not match`,
        "components[0]",
      ])
        expect(
          run.stderr.split("\n").filter((line) => line.startsWith(`refused: ${repository}@${image}: `)),
        ).toContainEqual(expect.stringContaining(reason));
      expect(await fixedIn()).toBe("a");
    }
    // The list itself: its failure removes nothing.
    registry.routes.set(`/v2/${repository}/referrers/${image}`, json({}, {}, 403));
    const run = await importRegistry("--prune");
    expect(run.code).toBe(1);
    expect(JSON.parse(run.stdout)).toMatchObject({ refused: 1, sboms: { unchanged: 1, removed: 0 } });
    expect(await fixedIn()).toBe("a");
  });

  it("more than a hundred of an image are refused", async () => {
    const image = putTaggedImage(6);
    openReferrersApi(image);
    const layers = [putBlob(cycloneDx("a"), cycloneDxType)];
    for (let i = 0; i < 101; i++) refer(image, cycloneDxType, layers, { number: String(i) });
    const run = await importRegistry();
    expect(run.code).toBe(1);
    expect(JSON.parse(run.stdout)).toMatchObject({ refused: 1, sboms: { added: 1 } });
    expect(run.stderr).toContain("has more than 100 attestations");
  });

  it("that the registry no longer has are kept and reported, and removed with --prune", async () => {
    const image = putTaggedImage(7);
    openReferrersApi(image);
    refer(image, cycloneDxType, [putBlob(cycloneDx("a"), cycloneDxType)]);
    const args = ["import", "registry", registry.url, "--group", group, "--repo", repository];
    const { stdout } = await runHere([...args, "--database", platform().databaseUrl]);
    expect(stdout).toBe(
      "read 2, added 2, changed 0, unchanged 0, removed 0, refused 0\n" +
        "bills of materials: added 1, changed 0, unchanged 0, removed 0, unread 0\n",
    );
    referrers.clear();
    const kept = await importRegistry();
    expect(JSON.parse(kept.stdout)).toMatchObject({ gone: 1, sboms: { unchanged: 0, removed: 0 } });
    expect(kept.stderr).toContain(`gone: ${repository}@${image}: its bills of materials`);
    expect(await fixedIn()).toBe("a");
    expect(await summaryOf("--prune")).toMatchObject({ gone: 0, sboms: { removed: 1 } });
    expect(await fixedIn()).toBeUndefined();
    expect(await summaryOf("--prune")).toMatchObject({ gone: 0, sboms: { removed: 0 } });
  });

  it("are not read with --registry-sboms off", async () => {
    const image = putTaggedImage(8);
    openReferrersApi(image);
    refer(image, cycloneDxType, [putBlob(cycloneDx("a"), cycloneDxType)]);
    const summary = await summaryOf("--registry-sboms", "off");
    expect(summary).not.toHaveProperty("sboms");
    expect(registry.asked.join()).not.toContain("/referrers/");
    expect(await fixedIn()).toBeUndefined();
  });

  it("are read for an image that an earlier version has stored", async () => {
    const amd64 = putImage("amd64", 9);
    const attestation = attest(amd64, putBlob(statement(spdxPredicate, spdx("a")), inToto));
    const manifests = [entry(amd64, "amd64"), attestation];
    const index = putTag("latest", { schemaVersion: 2, mediaType: types.index, manifests }, types.index);
    await summaryOf("--registry-sboms", "off");
    const { repos } = await platform().ok("ListRepos", { name: repository });
    await platform().write(async (session) => {
      for (const { attestations: _, ...image } of (await readImages(session, repos[0].uid, [index, amd64])).values())
        await saveImage(session, repos[0].uid, image, Date.now());
    });
    expect(await summaryOf()).toMatchObject({ unchanged: 2, changed: 0, sboms: { added: 1 } });
    expect(await fixedIn()).toBe("a");
  });

  it("are kept as they came, also of what an earlier version has read, and go with their artifacts", async () => {
    const image = putTaggedImage(14);
    openReferrersApi(image);
    const layer = putBlob(cycloneDx("a"), cycloneDxType);
    const artifact = refer(image, cycloneDxType, [layer]);
    await summaryOf();
    const { repos } = await platform().ok("ListRepos", { name: repository });
    const repo = repos[0].uid;
    const listed = async () =>
      (await platform().read("ListSbomDocuments", { uidp: { childrenOf: repo } })).sbomDocuments;
    const kept = { digest: image, source: artifact, documentDigest: layer.digest, mediaType: cycloneDxType };
    expect(await listed()).toMatchObject([kept]);
    const exported = await platform().fetch(`/findings/v1/images/${repo}/digests/${image}/sboms:export`);
    expect(await exported.json()).toEqual(cycloneDx("a"));
    await platform().write(async (session) => {
      await removeImage(session, repo, image, Date.now());
      const mediaType = types.manifest;
      const sboms = [{ digest: artifact, isIndexed: false, packages: "all" as const }];
      await saveImage(session, repo, { digest: image, mediaType, platforms: [], sboms }, Date.now());
    });
    expect(await listed()).toEqual([]);
    expect(await summaryOf()).toMatchObject({ sboms: { changed: 1 } });
    expect(await listed()).toMatchObject([kept]);
    expect(await summaryOf()).toMatchObject({ sboms: { unchanged: 1 } });
    referrers.delete(image);
    expect(await summaryOf("--prune")).toMatchObject({ sboms: { removed: 1 } });
    expect(await listed()).toEqual([]);
  });

  it("give way to one that was imported from a file", async () => {
    const image = putTaggedImage(10);
    openReferrersApi(image);
    refer(image, cycloneDxType, [putBlob(cycloneDx("a"), cycloneDxType)]);
    await summaryOf();
    const { repos } = await platform().ok("ListRepos", { name: repository });
    const { writeFile, rm } = await import("node:fs/promises");
    const path = `${process.env.TMPDIR ?? "/tmp"}/${repository}.cdx.json`;
    await writeFile(path, JSON.stringify(cycloneDx("b")));
    const where = ["--repo", repos[0].uid, "--digest", image, "--database", platform().databaseUrl];
    expect(await runHere(["import", "sbom", path, ...where])).toMatchObject({ code: 0 });
    await rm(path);
    refer(image, "application/spdx+json", [putBlob(spdx("c"), "application/spdx+json")]);
    expect(await summaryOf()).toMatchObject({ sboms: { changed: 1 } });
    expect(await fixedIn()).toBe("b");
  });

  async function notify(action: string, target: Json): Promise<void> {
    const timestamp = new Date(Date.now() - 3_600_000).toISOString(); // old ones are not waited for
    const event = { id: crypto.randomUUID(), timestamp, action, target: { repository, ...target } };
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const body = JSON.stringify({ events: [event] });
    const answer = await platform().fetch("/registry/notifications", { method: "POST", body, headers });
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
  }

  it("are imported as the registry notifies of an image, of a tag, and of a referrer, and removed so", async () => {
    const image = putTaggedImage(11);
    openReferrersApi(image);
    refer(image, cycloneDxType, [putBlob(cycloneDx("a"), cycloneDxType)]);
    await notify("push", { mediaType: types.manifest, digest: image, tag: "latest" });
    expect(await fixedIn()).toBe("a");

    const large = { ...cycloneDx("b"), properties: [{ name: "padding", value: "x".repeat(300_000) }] };
    const digest = refer(image, cycloneDxType, [putBlob(large, cycloneDxType)]);
    await notify("push", { mediaType: types.manifest, digest });
    expect(await fixedIn()).toBe("ab");

    const tag = `${image.replace(":", "-")}.att`;
    const config = { mediaType: types.config, digest: digestOf("{}"), size: 2 };
    const layers = [putBlob(envelope(statement(spdxPredicate, spdx("c"))), dsse)];
    const att = putTag(tag, { schemaVersion: 2, config, layers });
    await notify("push", { mediaType: types.manifest, digest: att, tag });
    expect(await fixedIn()).toBe("abc");

    registry.routes.delete(`/v2/${repository}/manifests/${tag}`);
    await notify("delete", { tag });
    expect(await fixedIn()).toBe("ab");
    registry.routes.delete(`/v2/${repository}/manifests/${digest}`);
    referrers.set(image, referrers.get(image)!.slice(0, 1));
    await notify("delete", { digest });
    expect(await fixedIn()).toBe("a");

    const broken = `x${"y".repeat(300_000)}`; // read on a thread
    const wrong = refer(image, cycloneDxType, [putBlob(broken, cycloneDxType)]);
    await notify("push", { mediaType: types.manifest, digest: wrong });
    expect(await fixedIn()).toBe("a");
    // What the command finds, it knows already.
    tags = tags.filter((each) => each === "latest");
    expect(JSON.parse((await importRegistry()).stdout)).toMatchObject({ refused: 1, sboms: { unchanged: 1 } });
  });
});
