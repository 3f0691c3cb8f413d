/** What a person sees who opens the server in a browser, and what others get at the same addresses. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { closePages, hasBrowser, sharedBrowser } from "./chromium.ts";
import { onOneServer } from "./platform.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

onOneServer("pages over HTTP", (platform) => {
  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    fetch(platform().baseUrl + path, { headers, method });

  test("the front page is HTML for browsers and JSON for others, with the server's own address", async () => {
    const page = await get("/", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await page.text()).toContain(`curl ${platform().baseUrl}/ping/v2/ping`);
    const facts = await get("/");
    expect(facts.headers.get("vary")).toMatch(/accept/);
    expect(await facts.json()).toMatchObject({
      baseUrl: platform().baseUrl,
      links: [{ path: "/console" }, { path: "/docs" }, {}, {}, {}, {}, {}, {}],
    });
  });

  test("the front page leads to the licences of all packages in what the pages load", async () => {
    const [, path = ""] = /href="(\/[\w-]+\.txt)"/.exec(await (await get("/", { accept: "text/html" })).text()) ?? [];
    const answer = await get(path);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    const text = await answer.text();
    // `node pages/licenses.mjs` writes those of the viewer, for its version.
    expect(text).toContain(
      `\n@scalar/api-reference ${manifest.devDependencies["@scalar/fastify-api-reference"]}, MIT\n`,
    );
    for (const name of ["vue", "react", "recharts"])
      expect(text, name).toMatch(new RegExp(`^${name} \\d+\\.\\d+`, "m"));
  });

  test("pages forbid everything that is inline, framed or from elsewhere", async () => {
    for (const path of ["/", "/docs"]) {
      const { headers } = await get(path, { accept: "text/html" });
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/);
      expect(policy).toMatch(/base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/);
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    }
    const nonces = await Promise.all(
      [1, 2].map(async () => (await get("/docs")).headers.get("content-security-policy")),
    );
    expect(nonces[0]).not.toBe(nonces[1]);
  });

  test("what pages load is compressed, and kept for good under a name of its own", async () => {
    const page = await (await get("/docs")).text();
    const paths = [...page.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) {
      expect(path).toMatch(/-[0-9a-f]{16}\.(css|js|svg)$/);
      const plain = await get(path, { "accept-encoding": "identity" });
      const [br, gzip] = await Promise.all(["br", "gzip"].map((coding) => get(path, { "accept-encoding": coding })));
      expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect([br!.headers.get("content-encoding"), gzip!.headers.get("content-encoding")]).toEqual(["br", "gzip"]);
      expect(await br!.text()).toBe(await plain.text());
      const tag = br!.headers.get("etag")!;
      expect((await get(path, { "accept-encoding": "br", "if-none-match": tag })).status).toBe(304);
    }
  });

  test.each([
    ["/openapi.json", "json"],
    ["/openapi.yaml", "yaml"],
    ["/openapi-v1.json", "json"],
    ["/openapi-v1.yaml", "yaml"],
  ])("%s names this server, and has an entity tag", async (path, format) => {
    const answer = await get(path);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, `application/${format}`]);
    expect(await answer.text()).toContain(platform().baseUrl);
    const tag = answer.headers.get("etag")!;
    expect((await get(path, { "if-none-match": `"other", ${tag}` })).status).toBe(304);
    expect((await get(path, { "if-none-match": '"other"' })).status).toBe(200);
    const head = await get(path, {}, "HEAD");
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("the documents of both versions lead to each other, and the front page to both", async () => {
    const { links } = (await (await get("/")).json()) as { links: { path: string }[] };
    const paths = links.map(({ path }) => path);
    for (const [path, other, version] of [
      ["/openapi.json", "/openapi-v1.json", "v2"],
      ["/openapi-v1.json", "/openapi.json", "v1"],
    ] as const) {
      const { info } = JSON.parse(await (await get(path)).text());
      expect(info.version).toBe(version);
      expect(info.description).toContain(`(${other})`);
      expect(paths).toContain(path);
    }
  });

  test("the viewer's document also says how gRPC clients call", async () => {
    // biome-ignore lint/suspicious/noExplicitAny: a document has any shape
    const { paths } = (await (await get("/docs/openapi.json")).json()) as any;
    const samples = paths["/registry/v2/repos/{uid}"].post["x-codeSamples"];
    expect(samples.map(({ label }: { label: string }) => label)).toEqual(["Protobuf", "grpcurl", "buf curl"]);
    expect(samples[0].source).toContain("rpc CreateRepo(CreateRepoRequest) returns (Repo);");
    expect(samples[1].source).toContain(
      `${new URL(platform().baseUrl).host} \\\n  platform.registry.v2.ReposService/CreateRepo`,
    );
  });

  test.each([
    ["POST", "/"],
    ["DELETE", "/docs"],
    ["GET", "/docs/"],
    ["GET", "/assets/"],
    ["GET", "/assets/../package.json"],
    ["GET", "/assets/%2e%2e%2fpackage.json"],
  ])("%s %s is not found", async (method, path) => {
    const answer = await get(path, {}, method);
    expect([answer.status, ((await answer.json()) as { code: number }).code]).toEqual([404, 5]);
  });
});

onOneServer(
  "pages that are switched off",
  (platform) => {
    test.each(["/", "/docs", "/docs/openapi.json", "/openapi.json", "/openapi.yaml", "/openapi-v1.json"])(
      "%s is not found",
      async (path) => {
        expect((await fetch(platform().baseUrl + path, { headers: { accept: "text/html" } })).status).toBe(404);
        expect((await fetch(`${platform().baseUrl}/readyz`)).status).toBe(200);
      },
    );
  },
  { pages: "off" },
);

onOneServer("pages in a browser", (platform) => {
  let browser: Browser;
  beforeAll(async () => {
    if (hasBrowser) browser = await sharedBrowser();
  });
  afterAll(closePages);

  /** Opens a page, and collects what a browser complains about and what is asked of other servers. */
  async function open(
    path: string,
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; complaints: string[] }> {
    const page = await (await browser.newContext(options)).newPage();
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(platform().baseUrl) && !/^(data|blob):/.test(url)) complaints.push(`request of ${url}`);
    });
    await page.goto(platform().baseUrl + path);
    await page.getByRole("heading", { name: "Platform API", level: 1 }).waitFor();
    return { page, complaints };
  }

  const looks: [name: string, options: BrowserContextOptions][] = [
    ["desktop", { viewport: { width: 1280, height: 800 } }],
    ["phone", { viewport: { width: 390, height: 844 } }],
    ["dark", { viewport: { width: 1280, height: 800 }, colorScheme: "dark" }],
  ];

  describe.skipIf(!hasBrowser).each(["/", "/docs"])("%s", (path) => {
    test.each(looks)("%s: nothing to complain about, accessible, nothing from elsewhere", async (_name, options) => {
      const { page, complaints } = await open(path, options);
      const findings = (await page.evaluate(
        `${axe};axe.run().then(({ violations }) => violations.map(({ id, impact, nodes }) => id + " " + impact + " " + nodes[0].html))`,
      )) as string[];
      expect(findings.filter((finding) => /^\S+ (serious|critical)/.test(finding))).toEqual([]);
      expect(complaints).toEqual([]);
      const width = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(width).toBeLessThanOrEqual(0);
    });
  });

  test.skipIf(!hasBrowser)("a call is tried with a token, which stays in memory", async () => {
    const { page, complaints } = await open("/docs#tag/roles/GET/iam/v2/roles", looks[0]![1]);
    await page.getByPlaceholder("Token").first().fill(platform().admin);
    await page.getByRole("button", { name: /test request ?\(get \/iam\/v2\/roles\)/i }).click();
    const answered = page.waitForResponse((response) => response.url().includes("/iam/v2/roles"));
    await page.getByRole("button", { name: /^send/i }).first().click();
    const answer = await answered;
    expect([answer.status(), await answer.text()]).toEqual([200, expect.stringContaining('"name":"viewer"')]);
    const kept = await page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])",
    );
    expect(kept).not.toContain(platform().admin.split(".")[2]);
    expect(complaints).toEqual([]);
  });
});
