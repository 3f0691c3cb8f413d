/** The console for the registry: tags, images and readmes of repos. */
import { describe, expect, test } from "vitest";
import { importImages, importVulnReport } from "../feed-fixtures.ts";
import { digestOf, makeGroup, makeRepo, makeTag } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, hasBrowser, lookAt } from "./browser.ts";

const readme = `# Openssl

A **toolkit** for TLS. See [the project](https://www.openssl.org/) or [mail us](mailto:dev@example.com).

## Use

- [x] install
- [ ] configure

\`\`\`sh
docker pull registry.example.com/openssl:3.3
\`\`\`

| tag | what it is |
| --- | ---: |
| latest | the newest |

![a badge](https://images.example.com/badge.svg)
`;

const hostile = `# Hostile

<script>globalThis.ran = "script"</script>
<img src=x onerror="globalThis.ran = 'handler'">
<iframe src="https://elsewhere.example.com/"></iframe>

[a link](javascript:globalThis.ran='link') <javascript:globalThis.ran='autolink'>
[entities](&#106;avascript:globalThis.ran='entities') [data](data:text/html,<script>globalThis.ran='data'</script>)
[relative](/console/list/roles) [no protocol](//elsewhere.example.com/)

![an image](data:image/svg+xml,<svg/onload="globalThis.ran='image'">) ![tracker](https://elsewhere.example.com/t.gif)

[reference][1] and a footnote[^1]

[1]: javascript:globalThis.ran='reference'
[^1]: <svg onload="globalThis.ran='footnote'">
`;

const scan = {
  descriptor: { name: "grype", version: "0.80.0", timestamp: "2026-01-02T03:04:05Z" },
  source: { type: "image", target: { manifestDigest: digestOf(7) } },
  matches: ["Critical", "High", "Medium", "Low", "Negligible"].map((severity, i) => ({
    vulnerability: {
      id: `CVE-2026-000${i}`,
      severity,
      description: "An attacker can read memory.",
      urls: [`https://nvd.example.com/CVE-2026-000${i}`],
      fix: i % 2 === 0 ? { versions: [`3.3.${i}`], state: "fixed" } : { versions: [], state: "not-fixed" },
    },
    artifact: { name: "openssl", version: "3.0.0", type: "apk", purl: "pkg:apk/wolfi/openssl@3.0.0" },
  })),
};

onOneServer("the registry in the console", (platform) => {
  const console = consoleBrowser(platform);

  async function makeImage() {
    const group = await makeGroup(platform(), platform().root);
    const repo = await makeRepo(platform(), group.uid);
    const digest = digestOf(7);
    await importImages(platform(), repo.uid, {
      digest,
      platforms: [
        { architecture: "amd64", size: 12_345_678 },
        { architecture: "arm64", size: 11_000_000 },
      ],
    });
    for (const name of ["latest", "3.3", `sha256-${"a".repeat(64)}.sig`])
      await makeTag(platform(), repo.uid, { name, digest });
    const tag = await makeTag(platform(), repo.uid, { name: "3.2", digest: digestOf(8), deprecated: true });
    await importVulnReport(platform(), repo.uid, digest, scan);
    return { repo, tag };
  }

  async function writeReadme(uid: string, content: string) {
    await platform().ok("UpdateRepoReadme", { repoReadme: { uid, content } });
  }

  describe.skipIf(!hasBrowser)("with a token", () => {
    test("tags lead to images, and a readme is rendered", async () => {
      const { repo } = await makeImage();
      await writeReadme(repo.uid, readme);
      const { page, complaints } = await console.open(`/view/repos/${repo.uid}`);
      await page.getByRole("row", { name: /latest.*amd64, arm64.*12\.3 MB/ }).waitFor();
      await page.getByText("Hide signatures and attachments").click();
      await page.getByText("1–3 of 3").waitFor();
      await lookAt(page, "tags");

      await page.getByRole("tab", { name: "Readme" }).click();
      await page.getByRole("heading", { name: "Openssl", level: 2 }).waitFor();
      await page.getByRole("heading", { name: "Use", level: 3 }).waitFor();
      const link = page.getByRole("link", { name: "the project" });
      expect(await link.getAttribute("rel")).toBe("noreferrer nofollow noopener");
      await page.getByRole("link", { name: "a badge" }).waitFor();
      await lookAt(page, "readme");

      await page.getByRole("tab", { name: "Tags" }).click();
      await page.getByRole("link", { name: "latest" }).click();
      await page.getByRole("heading", { name: "latest", level: 1 }).waitFor();
      await page.getByRole("row", { name: "arm64 11 MB" }).waitFor();
      await page.getByRole("link", { name: "3.3", exact: true }).waitFor();
      await page.getByRole("row", { name: /^Critical CVE-2026-0000/ }).waitFor();
      await lookAt(page, "image");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("an image that nobody imported has no architectures and no report", async () => {
      const { tag } = await makeImage();
      const { page, complaints } = await console.open(`/view/tags/${tag.uid}`);
      await page.getByText("Not known, or you may not see them").waitFor();
      await page.getByText("No report of a scanner has been imported").waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("nothing in a readme runs, and it leads nowhere but to pages", async () => {
      const repo = await makeRepo(platform(), platform().root);
      await writeReadme(repo.uid, hostile);
      const { page, complaints } = await console.open(`/view/repo-readmes/${repo.uid}`);
      const text = page.locator(".markdown");
      await text.getByRole("heading", { name: "Hostile", level: 2 }).waitFor();
      for (const name of ["a link", "entities", "data", "relative", "no protocol", "an image", "reference"])
        await text.getByText(name, { exact: true }).click();
      const addresses = await text.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
      expect(addresses).toEqual(["https://elsewhere.example.com/t.gif"]);
      expect(await text.locator("script, iframe, img, svg, object, form, input, style").count()).toBe(0);
      const attributes = await text
        .locator("*")
        .evaluateAll((all) => all.flatMap((element) => element.getAttributeNames()));
      expect(attributes.filter((name) => /^on|^src/.test(name))).toEqual([]);
      expect(await page.evaluate("globalThis.ran")).toBeUndefined();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test.each([
      ["is nested too deeply", ">".repeat(100_000)],
      ["takes minutes to parse", "a\n=\n".repeat(60_000)],
    ])("a readme that %s is shown as it is written, and the page works meanwhile", async (_, content) => {
      const repo = await makeRepo(platform(), platform().root);
      await writeReadme(repo.uid, content);
      const { page, complaints } = await console.open(`/view/repos/${repo.uid}`);
      await page.getByRole("tab", { name: "Readme" }).click();
      await page.getByRole("tab", { name: "Fields" }).click();
      await page.getByRole("cell", { name: repo.name }).waitFor();
      await page.getByRole("tab", { name: "Readme" }).click();
      await page.getByLabel("Source", { exact: true }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a readme is edited in Markdown", async () => {
      const repo = await makeRepo(platform(), platform().root);
      const { page, complaints } = await console.open(`/view/repos/${repo.uid}`);
      await page.getByText("No tags.").waitFor();
      await page.getByRole("tab", { name: "Readme" }).click();
      await page.getByRole("link", { name: "Edit the readme" }).click();
      await page.getByRole("textbox", { name: "Content" }).fill("# Written here");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { name: "Written here", level: 2 }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  });
});
