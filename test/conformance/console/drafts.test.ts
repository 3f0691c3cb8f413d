/** Drafts: what somebody has typed into a form is there after a reload. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { makeGroup } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, go, hasBrowser, screenshot, seriousFindings, signIn } from "./browser.ts";

onOneServer("drafts of forms", (platform) => {
  const console = consoleBrowser(platform);
  const field = (page: Page, name: string) => page.getByRole("textbox", { name, exact: true });
  const reload = async (page: Page) => {
    await page.reload();
    await signIn(page, platform().admin);
  };

  describe.skipIf(!hasBrowser)("in a browser", () => {
    test("survive a reload, are sent, and are gone then", async () => {
      const group = await makeGroup(platform(), platform().root);
      const { page, complaints } = await console.open(`/create/repos?parent=${encodeURIComponent(group.uid)}`);
      await field(page, "Name").fill("kept");
      await page.getByRole("textbox", { name: "Description" }).fill("over a reload");
      await reload(page);
      await page.getByText("Restored what you typed").waitFor();
      await screenshot(page, "draft-restored");
      expect(await seriousFindings(page)).toEqual([]);
      expect(await field(page, "Name").inputValue()).toBe("kept");
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await page.getByRole("tab", { name: "Fields" }).click();
      await page.getByRole("cell", { name: "over a reload" }).waitFor();
      await go(page, `/create/repos?parent=${encodeURIComponent(group.uid)}`);
      await field(page, "Name").waitFor();
      expect(await field(page, "Name").inputValue()).toBe("");
      expect(await page.getByText("Restored what you typed").count()).toBe(0);
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("of an edit are refused if somebody else has changed the resource, and can be discarded", async () => {
      const group = await makeGroup(platform(), platform().root);
      const { page } = await console.open(`/edit/groups/${group.uid}`);
      await page.getByRole("textbox", { name: "Description" }).fill("mine");
      await platform().ok("UpdateGroup", {
        group: { uid: group.uid, description: "theirs" },
        updateMask: "description",
      });
      await reload(page);
      expect(await page.getByRole("textbox", { name: "Description" }).inputValue()).toBe("mine");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("The group is not saved").waitFor();
      expect(await platform().ok("GetGroup", { uid: group.uid })).toMatchObject({ description: "theirs" });
      await page.getByRole("button", { name: "Discard" }).click();
      await page.getByText("Restored what you typed").waitFor({ state: "detached" });
      expect(await page.getByRole("textbox", { name: "Description" }).inputValue()).toBe("theirs");
      await page.context().close();
    });

    test("hold no secrets, and leaving the page or signing out discards them", async () => {
      const { page } = await console.open("/create/identity-providers");
      page.on("dialog", (dialog) => void dialog.accept());
      await field(page, "Name").fill("login");
      await page.getByRole("combobox", { name: "Configuration" }).click();
      await page.getByRole("option", { name: "OIDC" }).click();
      await page.getByLabel("Client secret").fill("a secret of the test");
      const stored = () => page.evaluate("JSON.stringify({ ...sessionStorage })");
      expect(await stored()).toContain("login");
      expect(await stored()).not.toContain("a secret of the test");
      await page.getByRole("link", { name: "Group tree" }).first().click();
      await page.getByRole("heading", { name: "Group tree" }).waitFor();
      expect(await stored()).not.toContain("login");
      await go(page, "/create/repos");
      await field(page, "Name").fill("left");
      expect(await stored()).toContain("left");
      await page.getByRole("button", { name: "Account" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      expect(await stored()).toBe("{}");
      await page.context().close();
    });
  });
});
