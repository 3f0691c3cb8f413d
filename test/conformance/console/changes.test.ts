/** Edits that are shown before the server has answered, and what blocks deletes. */
import { describe, expect, test } from "vitest";
import { freshName, makeGroup, makeRepo } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, go, hasBrowser, screenshot, seriousFindings } from "./browser.ts";

onOneServer("changes in the console", (platform) => {
  const console = consoleBrowser(platform);

  describe.skipIf(!hasBrowser)("in a browser", () => {
    test("an edit is shown at once, and taken back with its form if it is refused", async () => {
      const group = await makeGroup(platform(), platform().root);
      const repo = await makeRepo(platform(), group.uid);
      await platform().ok("CreateRepo", { parent: group.uid, repo: { name: "taken" } });
      const { page, complaints } = await console.open(`/edit/repos/${repo.uid}`);
      const name = page.getByRole("textbox", { name: "Name", exact: true });
      const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
      await page.route("**/UpdateRepo", async (route) => {
        await isReleased;
        await route.continue();
      });
      await name.fill("taken");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { name: "taken", level: 1 }).waitFor();
      release();
      await page.getByRole("alert").getByText("ALREADY_EXISTS").waitFor();
      await page.getByText("The repo is not saved").waitFor();
      expect(await name.inputValue()).toBe("taken");
      await screenshot(page, "edit-taken-back");
      expect(await seriousFindings(page)).toEqual([]);
      await name.fill("free");
      expect(await page.getByRole("alert").getByText("ALREADY_EXISTS").count()).toBe(0);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { name: "free", level: 1 }).waitFor();
      await page.getByText("Saved the repo").waitFor();
      await go(page, `/edit/repos/${repo.uid}`);
      expect(await name.inputValue()).toBe("free");
      expect(await page.getByText("Restored what you typed").count()).toBe(0);
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("what blocks a delete is linked: what is in it, and what refers to it", async () => {
      const group = await makeGroup(platform(), platform().root);
      const inner = await makeGroup(platform(), group.uid);
      const repo = await makeRepo(platform(), inner.uid);
      const { page, complaints } = await console.open(`/view/groups/${group.uid}`);
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("link", { name: inner.name, exact: true }).waitFor();
      await dialog.getByRole("link", { name: repo.name, exact: true }).waitFor();
      await page.waitForLoadState("networkidle");
      await screenshot(page, "delete-blockers");
      expect(await seriousFindings(page)).toEqual([]);
      await dialog.getByRole("link", { name: repo.name, exact: true }).click();
      await page.getByRole("heading", { name: repo.name, level: 1 }).waitFor();

      const role = await platform().ok("CreateRole", {
        parent: platform().root,
        role: { name: freshName(), capabilities: ["CAP_IAM_GROUPS_LIST"] },
      });
      const binding = await platform().ok("CreateRoleBinding", {
        parent: group.uid,
        roleBinding: { identityUid: platform().administrator, roleUid: role.uid },
      });
      await go(page, `/view/roles/${role.uid}`);
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByRole("dialog").getByText("cannot delete a role that is bound").waitFor();
      await page
        .getByRole("dialog")
        .getByRole("link", { name: `…${binding.uid.slice(-8)}` })
        .click();
      await page.getByText("Role bindings").first().waitFor();
      expect(page.url()).toContain(`/view/role-bindings/${binding.uid}`);
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  });
});
