/** The command palette: to pages, forms and resources from the keyboard. */
import { describe, expect, test } from "vitest";
import { importMetadata } from "../feed-fixtures.ts";
import { freshName, makeGroup, makeRepo } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, hasBrowser, lookAt, seriousFindings } from "./browser.ts";

onOneServer("the command palette", (platform) => {
  const console = consoleBrowser(platform);

  describe.skipIf(!hasBrowser)("in a browser", () => {
    test("opens by the keyboard, and leads to lists and forms", async () => {
      const { page, complaints } = await console.open("");
      await page.keyboard.press("Control+k");
      const input = page.getByRole("combobox", { name: "Page, name or uid" });
      await input.waitFor();
      expect(await page.evaluate("document.activeElement.role")).toBe("combobox");
      await page.keyboard.type("role b");
      const option = page.getByRole("option", { name: /^Role bindings/ });
      expect(await input.getAttribute("aria-activedescendant")).toBe(await option.getAttribute("id"));
      await page.keyboard.press("ArrowDown");
      expect(await page.getByRole("option", { selected: true }).textContent()).toContain("Create role binding");
      await page.keyboard.press("ArrowDown"); // begins again
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Role bindings", level: 1 }).waitFor();
      await page.keyboard.press("Control+k");
      await page.keyboard.type("create repo");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Create a repo", level: 1 }).waitFor();
      await page.getByRole("textbox", { name: "Description" }).focus();
      await page.keyboard.press("Control+k"); // also in an input
      await input.waitFor();
      await page.keyboard.press("Escape");
      await input.waitFor({ state: "detached" });
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("finds resources by name and by uid", async () => {
      const group = await makeGroup(platform(), platform().root);
      const repo = await makeRepo(platform(), group.uid);
      const { page, complaints } = await console.open("");
      await page.getByRole("button", { name: "Go to…" }).click();
      const input = page.getByRole("combobox", { name: "Page, name or uid" });
      await input.waitFor();
      await lookAt(page, "palette");
      await input.fill(repo.name.slice(0, -2));
      await page.getByRole("option", { name: new RegExp(`^${repo.name}.*Repo$`) }).waitFor();
      await lookAt(page, "palette-found");
      await input.fill(group.uid);
      await page.getByRole("option", { name: new RegExp(`^${group.name}.*Group$`) }).click();
      await page.getByRole("heading", { name: group.name, level: 1 }).waitFor();
      await page.getByRole("button", { name: "Go to…" }).click();
      await input.fill("there is no such thing");
      await page.getByText("Nothing has this name or uid").waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("finds resources of several types, and vulnerabilities by their ids", async () => {
      const { name } = await makeGroup(platform());
      await makeRepo(platform(), platform().root, { name });
      const id = freshName("CVE");
      await importMetadata(platform(), { id });
      const { page, complaints } = await console.open("");
      await page.keyboard.press("Control+k");
      const input = page.getByRole("combobox", { name: "Page, name or uid" });
      await input.fill(name.slice(0, -1));
      const found = page.getByRole("option", { name: new RegExp(`^${name}`) });
      await found.nth(1).waitFor();
      expect(await found.allTextContents()).toEqual([expect.stringMatching(/Group$/), expect.stringMatching(/Repo$/)]);
      await input.fill(id);
      await page.getByRole("option", { name: new RegExp(`^${id}.*Vulnerability metadata$`) }).click();
      await page.getByRole("heading", { name: id, level: 1 }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  });
});
