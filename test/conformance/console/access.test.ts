/** Access in the console: who may do what, why, and how a role is bound. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { bind, builtInRole, freshName, insertIdentity, makeGroup, makeIdentity, makeMember } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, go, hasBrowser, lookAt, screenshot, seriousFindings } from "./browser.ts";

/** Somebody comes back to the window. */
const comeBack = (page: Page) => page.evaluate('dispatchEvent(new Event("visibilitychange"))');

/** Chooses an option of a field that is searched by what is typed. */
async function choose(page: Page, label: string, text: string): Promise<void> {
  await page.getByRole("combobox", { name: label }).fill(text);
  await page.getByRole("option", { name: new RegExp(`^${text.replaceAll(".", "\\.")}( |$)`) }).click();
}

onOneServer("access in the console", (platform) => {
  const console = consoleBrowser(platform);

  describe.skipIf(!hasBrowser)("with a token", () => {
    test("accessible pages, nothing to complain about", async () => {
      const outer = await makeGroup(platform());
      const inner = await makeGroup(platform(), outer.uid);
      const member = await makeMember(platform(), outer.uid, "owner");
      const reader = await makeMember(platform(), inner.uid, "viewer");
      const { page, complaints } = await console.open(`/view/groups/${inner.uid}?tab=Access`);
      for (const [name, path, text] of [
        ["access-group", `/view/groups/${inner.uid}?tab=Access`, "inherited"],
        ["access-identity", `/view/identities/${member.uid}`, "May it do something there, and why?"],
        ["access-binding", `/view/role-bindings/${reader.bindingUid}`, "inherited"],
      ] as const) {
        await go(page, path);
        await page.getByText(text).first().waitFor();
        await lookAt(page, name);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a role that is bound is seen by somebody who comes back to the list", async () => {
      const group = await makeGroup(platform());
      const owner = await makeMember(platform(), group.uid, "owner");
      const { uid, name } = await makeIdentity(platform(), group.uid);
      const { page: other, complaints: others } = await console.open(
        `/view/groups/${group.uid}?tab=Access`,
        {},
        owner.token,
      );
      const access = other.getByRole("table");
      await access.getByRole("row", { name: /owner/ }).waitFor();
      expect(await access.getByRole("row", { name }).count()).toBe(0);

      const { page, complaints } = await console.open(`/view/groups/${group.uid}?tab=Access`, {}, owner.token);
      await page.getByRole("link", { name: "Bind a role here" }).click();
      await choose(page, "Identity UID", name);
      await choose(page, "Role UID", "registry.pull");
      await page.getByRole("region", { name: "What the role grants" }).getByText("repo", { exact: true }).waitFor();
      await screenshot(page, "access-bind");
      expect(await seriousFindings(page)).toEqual([]);
      await page.getByRole("button", { name: "Create", exact: true }).click();
      await page.getByRole("row", { name }).getByRole("cell", { name: "registry.pull" }).waitFor();

      await comeBack(other);
      await access.getByRole("row", { name }).getByText("registry.pull").waitFor();
      await platform().ok("DeleteRoleBinding", {
        uid: (await platform().ok("ListRoleBindings", { identity: uid })).roleBindings[0].uid,
      });
      await comeBack(other);
      await access.getByRole("row", { name }).waitFor({ state: "detached" });
      expect([...complaints, ...others]).toEqual([]);
      await page.context().close();
      await other.context().close();
    });

    test("the access of a group is filtered by identity, in the address", async () => {
      const group = await makeGroup(platform());
      const owner = await makeMember(platform(), group.uid, "owner");
      const { uid, name } = await makeIdentity(platform(), group.uid);
      await bind(platform(), group.uid, uid, await builtInRole(platform(), "viewer"));
      const { page, complaints } = await console.open(`/view/groups/${group.uid}?tab=Access`, {}, owner.token);
      await page.getByRole("row", { name: /owner/ }).waitFor();
      await choose(page, "Only of the identity", name);
      await page.getByRole("row", { name: /owner/ }).waitFor({ state: "detached" });
      await page.getByRole("row", { name }).waitFor();
      expect(decodeURIComponent(page.url())).toContain(uid);
      await page.goBack();
      await page.getByRole("row", { name: /owner/ }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("why an identity may do something, or may not, is said in words", async () => {
      const group = await makeGroup(platform());
      const reader = await makeMember(platform(), group.uid, "viewer");
      const { page, complaints } = await console.open(`/view/groups/${group.uid}?tab=Access`);
      await page
        .getByRole("row", { name: /viewer/ })
        .getByRole("button", { name: "Why?" })
        .click();
      await choose(page, "Capability", "repo.create");
      const dialog = page.getByRole("dialog");
      await dialog.getByText("Denied").waitFor();
      await dialog.getByText("none has CAP_REPO_CREATE").waitFor();
      await dialog.getByRole("link", { name: "registry.editor" }).waitFor();
      await screenshot(page, "access-denied");
      expect(await seriousFindings(page)).toEqual([]);
      await choose(page, "Capability", "repo.list");
      await dialog.getByText("Allowed").waitFor();
      await dialog.getByRole("region", { name: "Granted by" }).getByText("viewer").waitFor();
      await page.keyboard.press("Escape");

      await go(page, `/view/identities/${reader.uid}`);
      await page.getByRole("region", { name: "Role bindings" }).getByRole("link", { name: "viewer" }).waitFor();
      await choose(page, "Group", group.name);
      await choose(page, "Capability", "groups.delete");
      await page.getByText("Denied").waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("an identity is chosen by the beginning of its name, however many there are", async () => {
      const name = freshName("zoe");
      const group = await makeGroup(platform());
      // More than are read at first.
      const place = (i: number | string) => `${group.uid}/${String(i).padStart(16, "0")}`;
      for (let i = 0; i < 201; i++) await insertIdentity(platform(), group.uid, freshName(), place(i));
      await insertIdentity(platform(), group.uid, name, place("f".repeat(16)));
      const { page, complaints } = await console.open(`/view/groups/${group.uid}?tab=Access`);
      await page.getByRole("combobox", { name: "Only of the identity" }).fill(name.slice(0, -2));
      await page.getByRole("option", { name: new RegExp(`^${name} `) }).click();
      await page.waitForURL((url) => decodeURIComponent(url.href).includes(place("f".repeat(16))));
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("somebody who may not list role bindings is told so", async () => {
      const group = await makeGroup(platform());
      const { token } = await makeMember(platform(), group.uid, ["CAP_IAM_GROUPS_LIST"]);
      const { page } = await console.open(`/view/groups/${group.uid}?tab=Access`, {}, token);
      await page.getByRole("alert").getByText("CAP_IAM_ROLE_BINDINGS_LIST").waitFor();
      await screenshot(page, "access-refused");
      await page.context().close();
    });
  });
});
