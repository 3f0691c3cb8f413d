/** The page of a group in the console, and how a group is found. */
import { describe, expect, test } from "vitest";
import { Severity_Type } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { advisory, event, importAdvisories, importMetadata } from "../feed-fixtures.ts";
import { freshName, makeGroup, makeMember, makeRepo } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, go, hasBrowser, lookAt, screenshot, seriousFindings, settled } from "./browser.ts";

onOneServer("groups in the console", (platform) => {
  const console = consoleBrowser(platform);

  describe.skipIf(!hasBrowser)("with a token", () => {
    test("an accessible overview, nothing to complain about", async () => {
      const group = await makeGroup(platform(), platform().root, { description: "what the team ships" });
      const { token } = await makeMember(platform(), group.uid, "owner");
      await makeRepo(platform(), group.uid);
      const { page, complaints } = await console.open(`/view/groups/${group.uid}`, {}, token);
      await page.getByText("CreateRepo", { exact: true }).waitFor();
      await lookAt(page, "group-overview");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("its overview has counts, the first grants and changes, and links to all of them", async () => {
      const group = await makeGroup(platform());
      const { token } = await makeMember(platform(), group.uid, "owner");
      for (let i = 0; i < 3; i++) await makeRepo(platform(), group.uid);
      for (let i = 0; i < 4; i++) await makeMember(platform(), group.uid, "viewer");
      const { page, complaints } = await console.open(`/view/groups/${group.uid}`, {}, token);
      await page.getByRole("region", { name: "Repos" }).getByText("3").waitFor();
      const access = page.getByRole("region", { name: "Who has access" });
      await access.getByText("The first 5 of ").waitFor();
      expect(await access.locator("tbody tr").count()).toBe(5);
      const changes = page.getByRole("region", { name: "Latest changes" });
      await changes.getByText("CreateRoleBinding").first().waitFor();
      await changes.getByRole("link", { name: "All in Audit" }).click();
      await page.getByRole("region", { name: "Filters" }).waitFor();
      expect(page.url()).toContain("tab=Audit");
      await go(page, `/view/groups/${group.uid}`);
      await access.getByRole("link", { name: "All in Access" }).click();
      await page.getByRole("button", { name: "Explain access" }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("its overview counts open advisories by severity", async () => {
      const group = await makeGroup(platform());
      const [critical, unrated, fixed] = [freshName("CVE"), freshName("CVE"), freshName("CVE")];
      await importMetadata(platform(), {
        id: critical,
        severities: [{ type: Severity_Type.CVSS_V3, score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" }],
      });
      const detection = event({ type: { case: "detection", value: { type: { case: "manual", value: {} } } } });
      const fix = event({ type: { case: "fixed", value: { fixedVersion: "1.2.3" } } });
      await importAdvisories(
        platform(),
        group.uid,
        advisory({ aliases: [critical], events: [detection] }),
        advisory({ aliases: [unrated], events: [detection] }),
        advisory({ aliases: [fixed], events: [fix] }),
      );
      const { page, complaints } = await console.open(`/view/groups/${group.uid}`);
      const advisories = page.getByRole("region", { name: "Open advisories" });
      await advisories.getByText("1 Critical").waitFor();
      await advisories.getByText("1 Unknown").waitFor();
      await settled(page);
      await screenshot(page, "group-advisories");
      expect(await seriousFindings(page)).toEqual([]);
      await advisories.getByRole("link", { name: "All 3 advisories" }).click();
      await page.getByText("1–3 of 3").waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("its overview makes no call that a viewer is denied", async () => {
      const group = await makeGroup(platform());
      const { token } = await makeMember(platform(), group.uid, "viewer");
      const { page, complaints } = await console.open(`/view/groups/${group.uid}`, {}, token);
      await page.getByText("You may not read the audit log here.").waitFor();
      await page.getByRole("region", { name: "Who has access" }).getByText("viewer").waitFor();
      await settled(page);
      await screenshot(page, "group-overview-viewer");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a group is found in the tree by the beginning of its name or by its uid, with its path", async () => {
      const name = freshName("found");
      const outer = await makeGroup(platform());
      const group = await makeGroup(platform(), outer.uid, { name });
      const other = await makeGroup(platform(), platform().root, { name });
      const { page, complaints } = await console.open("/tree");
      const search = page.getByRole("searchbox", { name: "Find a group" });
      await search.fill(name.slice(0, -2));
      const found = page.getByRole("region", { name: "Groups found" });
      await found.getByText("2 groups").waitFor();
      await found
        .getByRole("listitem")
        .filter({ hasText: `platform / ${outer.name} / ${name}` })
        .waitFor();
      await found
        .getByRole("listitem")
        .filter({ hasText: new RegExp(`^platform / ${name}$`) })
        .waitFor();
      await screenshot(page, "tree-found");
      expect(await seriousFindings(page)).toEqual([]);
      expect(page.url()).toMatch(new RegExp(`name=${name.slice(0, -2)}$`));
      await found.getByRole("link", { name, exact: true }).first().click();
      await page.getByRole("heading", { name, level: 1 }).waitFor();
      await page.goBack();
      await found.getByText("2 groups").waitFor();
      expect(await search.inputValue()).toBe(name.slice(0, -2));
      await search.fill(group.uid);
      await found.getByText("1 group", { exact: true }).waitFor();
      await search.fill(freshName());
      await found.getByText("No group that you may see").waitFor();
      await search.fill("");
      await page
        .getByRole("button", { name: /^Groups in / })
        .first()
        .waitFor();
      expect([complaints, other.name]).toEqual([[], name]);
      await page.context().close();
    });

    test("groups with the same beginning come in pages", async () => {
      const word = freshName();
      for (let i = 0; i < 51; i++) await makeGroup(platform(), platform().root, { name: `${word}-${100 + i}` });
      const { page, complaints } = await console.open(`/tree?name=${word}`);
      const found = page.getByRole("region", { name: "Groups found" });
      await found.getByText("More than 50 groups").waitFor();
      await found.getByRole("button", { name: "Show more" }).click();
      await found.getByText("51 groups", { exact: true }).waitFor();
      expect(await found.getByRole("listitem").count()).toBe(51);
      expect(await found.getByRole("button", { name: "Show more" }).count()).toBe(0);
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  });
});
