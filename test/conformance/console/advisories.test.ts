/** The console for advisories and vulnerabilities: how they are found, and what became of them. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, test } from "vitest";
import { Reference_Type, Severity_Type } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { ReviewState } from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { advisory, event, importAdvisories, importDocuments, importMetadata } from "../feed-fixtures.ts";
import { makeGroup } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, go, hasBrowser, lookAt } from "./browser.ts";

const at = (text: string) => timestampFromDate(new Date(text));
const scan = { scanner: "grype", component: "libssl3", componentLocation: "/usr/lib/libssl.so.3" };
const detection = { case: "detection", value: { type: { case: "scanv1", value: scan } } } as const;
const fixed = { case: "fixed", value: { fixedVersion: "3.1.2-r0", note: "Fixed by an update." } } as const;

onOneServer("advisories in the console", (platform) => {
  const console = consoleBrowser(platform);

  beforeAll(async () => {
    const group = await makeGroup(platform());
    await importMetadata(platform(), {
      id: "CVE-2026-0001",
      summary: "A buffer overflow",
      details: "An attacker can **write** memory. <script>globalThis.ran = true</script>",
      aliases: ["GHSA-aaaa-bbbb-cccc"],
      severities: [{ type: Severity_Type.CVSS_V3, score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" }],
      references: [
        { type: Reference_Type.FIX, url: "https://git.example.com/fix" },
        { type: Reference_Type.WEB, url: "javascript:globalThis.ran=true" },
      ],
    });
    await importAdvisories(
      platform(),
      group.uid,
      advisory({
        advisoryId: "ADV-0001",
        artifactName: "openssl",
        componentName: "libssl3",
        aliases: ["GHSA-aaaa-bbbb-cccc", "CVE-2026-0001"],
        events: [
          event({ createTime: at("2026-03-03T00:00:00Z"), type: fixed, issue: "https://issues.example.com/7" }),
          event({ createTime: at("2026-01-02T03:04:05Z"), type: detection }),
        ],
      }),
      advisory({
        advisoryId: "ADV-0002",
        artifactName: "curl",
        aliases: ["CVE-2026-0002"],
        events: [
          event({
            createTime: at("2026-02-02T00:00:00Z"),
            type: { case: "falsePositiveDetermination", value: { note: "Not built in." } },
            reviewState: ReviewState.PENDING,
          }),
          event({ createTime: at("2026-02-01T00:00:00Z"), type: detection }),
        ],
      }),
      advisory({ advisoryId: "ADV-0003", artifactName: "zlib" }),
    );
    await importDocuments(platform(), {
      id: "openssl",
      advisories: [
        {
          id: "ADV-0001",
          aliases: ["CVE-2026-0001"],
          events: [
            { timestamp: at("2026-03-03T00:00:00Z"), data: { case: "fixed", value: { fixedVersion: "3.1.2-r0" } } },
            { timestamp: at("2026-01-02T00:00:00Z"), data: { case: "detection", value: {} } },
          ],
        },
      ],
    });
  });

  describe.skipIf(!hasBrowser)("with a token", () => {
    test("an advisory is found, with its history, its vulnerability and its package", async () => {
      const { page, complaints } = await console.open("/list/advisories");
      const check = async (name: string) => {
        await page.waitForLoadState("networkidle");
        await lookAt(page, name);
      };
      await page
        .getByRole("row", { name: /^Critical 9\.8 ADV-0001 CVE-2026-0001 GHSA-\S+ openssl libssl3 Fixed/ })
        .waitFor();
      await page.getByRole("row", { name: /ADV-0002.*Detected/ }).waitFor();
      await page.getByRole("row", { name: /ADV-0003.*No approved event/ }).waitFor();
      await page.getByRole("button", { name: "Over time" }).click();
      await page.locator("svg.recharts-surface path.recharts-line-curve").nth(1).waitFor();
      await page.getByRole("row", { name: /ADV-0001/ }).hover(); // a row under the pointer has another background
      await check("advisories");
      await page.getByText("As a table").click();
      await page.getByRole("row", { name: /^2026-03-\d\d 1 1$/ }).waitFor();

      await page.getByRole("searchbox").fill("cve-2026-0001");
      await page.getByText("1–1 of 1").waitFor();
      await page.getByRole("link", { name: "ADV-0001" }).click();
      await page.getByRole("heading", { name: "ADV-0001", level: 1 }).waitFor();
      await page.getByText("Detected by a scanner").waitFor();
      await page.getByText("Fixed by an update.").waitFor();
      await page.getByText("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H").waitFor();
      expect(await page.getByRole("link", { name: "Discussion" }).getAttribute("href")).toBe(
        "https://issues.example.com/7",
      );
      await check("advisory");

      await page.getByRole("link", { name: "CVE-2026-0001" }).click();
      await page.getByRole("heading", { name: "CVE-2026-0001", level: 1 }).waitFor();
      await page.getByText("A buffer overflow").waitFor();
      await page.getByRole("link", { name: "https://git.example.com/fix" }).waitFor();
      await page.getByText("javascript:globalThis.ran=true").click();
      await page.getByRole("link", { name: "ADV-0001" }).waitFor();
      expect(await page.evaluate("globalThis.ran")).toBeUndefined();
      await check("vulnerability");

      await page.getByRole("link", { name: "openssl", exact: true }).click();
      await page.getByRole("button", { name: /ADV-0001 CVE-2026-0001 Fixed/ }).click();
      await page.getByText("3.1.2-r0").waitFor();
      await page.locator("svg.recharts-surface").first().waitFor();
      await check("document");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("status and text narrow the list down, and the address holds both", async () => {
      const { page, complaints } = await console.open("/list/advisories");
      await page.locator("label").getByText("Detected", { exact: true }).click();
      await page.getByText("1–1 of 1").waitFor();
      await page.getByRole("link", { name: "ADV-0002" }).waitFor();
      const address = new URL(page.url());
      expect(address.searchParams.get("filter")).toBe('{"latestEventType":"EVENT_TYPE_FILTER_DETECTION"}');
      await page.getByRole("searchbox").fill("openssl");
      await page.getByText("No advisories match these filters.").waitFor();
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.getByText("1–3 of 3").waitFor();
      expect(await page.getByRole("searchbox").inputValue()).toBe("");
      await go(page, `/list/advisories?filter=${encodeURIComponent('{"query":"curl"}')}`);
      await page.getByText("1–1 of 1").waitFor();
      expect(await page.getByRole("searchbox").inputValue()).toBe("curl");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("vulnerabilities are listed with their severity", async () => {
      const { page, complaints } = await console.open("/list/vulnerability-metadata");
      await page.getByRole("row", { name: /CVE-2026-0001 .*A buffer overflow Critical 9\.8/ }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  });
});
