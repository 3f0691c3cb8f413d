/** The console by the keyboard alone, and at a zoom of 200 %. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { freshName, makeGroup, makeRepo, makeTag } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, go, hasBrowser, screenshot, seriousFindings } from "./browser.ts";

/** What has the focus: its name for people, and whether it is seen that it has the focus. */
interface Focus {
  readonly name: string;
  readonly isSeen: boolean;
}

const focusOf = `(() => {
  const it = document.activeElement;
  if (it === document.body) return { name: "the page", isSeen: true };
  const label = it.labels?.[0] ?? document.getElementById(it.getAttribute("aria-labelledby"));
  const name = it.getAttribute("aria-label") ?? label?.textContent ?? it.textContent;
  const { left, top, right, bottom } = it.getBoundingClientRect();
  const isInside = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
  const isMarked = [it, it.closest(".mantine-Input-input")].some((marked) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(marked ?? it);
    return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
  });
  return { name: name.replace(" *", "").trim(), isSeen: isInside && isMarked };
})()`;

/** What has the focus, once that is seen: what moves in does not stand in the window at first. */
async function seenFocus(page: Page): Promise<Focus> {
  let focus = { name: "nothing", isSeen: false };
  await expect
    .poll(async () => {
      focus = (await page.evaluate(focusOf)) as Focus;
      return focus.isSeen ? "seen" : `the focus on ${focus.name} is not visible`;
    })
    .toBe("seen");
  return focus;
}

/** Presses Tab until something with this name has the focus. All that has it on the way must show it. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    const focus = await seenFocus(page);
    if (typeof name === "string" ? focus.name === name : name.test(focus.name)) return;
    passed.push(focus.name);
  }
  throw new Error(`${name} is not reached by Tab, but ${passed.join(", ")}`);
}

/** Goes to the tabs of a resource, and on to one of them by arrows. */
async function openTab(page: Page, name: string): Promise<void> {
  await tabTo(page, String(await page.getByRole("tab", { selected: true }).textContent()));
  for (let presses = 0; presses < 10; presses++) {
    if (((await page.evaluate(focusOf)) as Focus).name === name) return;
    await page.keyboard.press("ArrowRight");
  }
  throw new Error(`the tab ${name} is not reached`);
}

/** What is beyond the right edge of the window, and not in something that scrolls. */
const cutOff = `[...document.querySelectorAll("a, button, input, textarea, h1, h2, [role=tab], [role=alert]")]
  .filter((it) => it.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .filter((it) => {
    const { left, right, width } = it.getBoundingClientRect();
    return width > 1 && right > 0 && (right > innerWidth + 1 || left < -1);
  })
  .filter((it) => {
    for (let outer = it.parentElement; outer; outer = outer.parentElement)
      if (/auto|scroll/.test(getComputedStyle(outer).overflowX) && outer.scrollWidth > outer.clientWidth) return false;
    return true;
  })
  .map((it) => it.outerHTML.slice(0, 200))`;

onOneServer("the console without a mouse", (platform) => {
  const console = consoleBrowser(platform);

  describe.skipIf(!hasBrowser)("in a browser", () => {
    test("signs in, walks the tree, creates, is refused, edits and deletes", async () => {
      const root = await platform().read("GetGroup", { uid: platform().root });
      const group = await makeGroup(platform(), platform().root);
      const name = freshName();
      const { page, complaints } = await console.openSignedOut("");
      const heading = (text: string) => page.getByRole("heading", { name: text, level: 1 }).waitFor();

      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await tabTo(page, "Token");
      await page.keyboard.type(platform().admin);
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Account" }).waitFor();
      await tabTo(page, "Skip to content");
      await screenshot(page, "keyboard-skip-link");
      await page.keyboard.press("Enter");
      await tabTo(page, "group tree");
      await page.keyboard.press("Enter");
      await heading("Group tree");
      await tabTo(page, `Groups in ${root.name}`);
      await page.keyboard.press("Enter");
      await page.getByRole("link", { name: group.name, exact: true }).waitFor();
      await tabTo(page, group.name);
      await screenshot(page, "keyboard-tree");
      await page.keyboard.press("Enter");
      await heading(group.name);

      expect(await page.title()).toBe(`Group …${group.uid.slice(-8)} · Platform API`);
      await openTab(page, "Contents");
      await tabTo(page, "Create repo here");
      await page.keyboard.press("Enter");
      await heading("Create a repo");
      await tabTo(page, "Name");
      await page.keyboard.type("Not A Name");
      await page
        .getByText(/does not match|must match/)
        .first()
        .waitFor();
      await page.keyboard.press("Enter");
      await page.waitForFunction("document.activeElement.getAttribute('aria-invalid') === 'true'");
      await screenshot(page, "keyboard-refused");
      await page.keyboard.press("Control+a");
      await page.keyboard.type(name);
      await page.keyboard.press("Enter");
      await heading(name);

      await tabTo(page, "Edit");
      await page.keyboard.press("Enter");
      await heading(`Edit ${name}`);
      await tabTo(page, "Description");
      await page.keyboard.type("typed");
      await page.keyboard.press("Enter");
      await heading(name);
      await openTab(page, "Fields");
      await page.getByRole("cell", { name: "typed" }).waitFor();

      await tabTo(page, "Delete");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await expect.poll(() => page.evaluate("document.activeElement.closest('[role=dialog]') !== null")).toBe(true);
      await page.getByRole("button", { name: "Delete the repo", disabled: false }).waitFor();
      await tabTo(page, "Delete the repo");
      await screenshot(page, "keyboard-delete");
      await page.keyboard.press("Enter");
      await heading("Repos");
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    test("a dialog returns the focus to what has opened it", async () => {
      const repo = await makeRepo(platform(), platform().root);
      const { page } = await console.open(`/view/repos/${repo.uid}`);
      await page.getByRole("heading", { name: repo.name, level: 1 }).waitFor();
      for (const [opener, dialog] of [
        ["Delete", /^Delete the repo/],
        ["Go to…", "Go to"],
      ] as const) {
        await page.getByRole("button", { name: opener, exact: true }).focus();
        await page.keyboard.press("Enter");
        await page.getByRole("dialog", { name: dialog }).waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe(opener);
      }
      await page.context().close();
    });

    test("nothing is cut off at a zoom of 200 %", async () => {
      const group = await makeGroup(platform(), platform().root);
      const repo = await makeRepo(platform(), group.uid);
      await makeTag(platform(), repo.uid);
      const { page, complaints } = await console.openSignedOut("", {
        viewport: { width: 640, height: 400 },
        deviceScaleFactor: 2,
      });
      const look = async (name: string) => {
        await page.waitForLoadState("networkidle");
        expect(await seriousFindings(page), name).toEqual([]);
        await screenshot(page, `zoom-${name}`);
        expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), name).toBeLessThanOrEqual(0);
        expect(await page.evaluate(cutOff), name).toEqual([]);
      };
      await look("sign-in");
      await page.getByLabel("Token", { exact: true }).fill(platform().admin);
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Account" }).waitFor();
      for (const [name, path, heading] of [
        ["home", "", "Platform API"],
        ["tree", "/tree", "Group tree"],
        ["list", "/list/repos", "Repos"],
        ["roles", "/list/roles", "Roles"],
        ["view", `/view/repos/${repo.uid}`, repo.name],
        ["create", "/create/identity-providers", "Create an identity provider"],
        ["edit", `/edit/groups/${group.uid}`, `Edit ${group.name}`],
      ] as const) {
        await go(page, path);
        await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
        await look(name);
      }
      await go(page, `/view/groups/${group.uid}`);
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByRole("dialog").getByRole("link", { name: repo.name }).waitFor();
      await look("delete");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Navigation" }).click();
      await page.getByRole("navigation").getByRole("link", { name: "Group tree" }).waitFor();
      await look("navigation");
      await page.getByRole("button", { name: "Go to…" }).click();
      await page.getByRole("combobox", { name: "Page, name or uid" }).waitFor();
      await look("palette");
      expect(complaints).toEqual([]);
      await page.context().close();
    });
  });
});
