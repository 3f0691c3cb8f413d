/** Deliveries in the console: what a receiver was sent, and what somebody does about it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EventSink, startSink } from "../event-sink.ts";
import { makeGroup, makeRepo } from "../fixtures.ts";
import { onOneServer } from "../platform.ts";
import { consoleBrowser, hasBrowser, lookAt, screenshot, seriousFindings } from "./browser.ts";

onOneServer(
  "deliveries in the console",
  (platform) => {
    const console = consoleBrowser(platform);
    let sink: EventSink;
    let status = 200;
    beforeAll(async () => {
      sink = await startSink((_received, response) => {
        response.statusCode = status;
        response.end();
      });
    });
    afterAll(() => sink?.close());

    async function subscribe(path: string) {
      const { uid: group } = await makeGroup(platform());
      const { uid } = await platform().ok("CreateSubscription", {
        parent: group,
        subscription: { sink: sink.url(path) },
      });
      return { group, uid };
    }

    describe.skipIf(!hasBrowser)("in a browser", () => {
      test("an accessible page, nothing to complain about", async () => {
        status = 200;
        const { group, uid } = await subscribe("/looked-at");
        await makeRepo(platform(), group);
        await expect.poll(() => sink.at("/looked-at").length).toBe(1);
        const { page, complaints } = await console.open(`/view/subscriptions/${uid}`);
        await page.locator("tbody").getByText("Delivered").waitFor();
        await page.getByRole("button", { name: "Attempts to deliver platform.registry.repo.created" }).click();
        await page.getByRole("region", { name: "Attempts" }).getByText("status 200").waitFor();
        await lookAt(page, "deliveries");
        expect(complaints).toEqual([]);
        await page.context().close();
      });

      test("a delivery that the receiver refuses is replayed and accepted", async () => {
        status = 500;
        const { group, uid } = await subscribe("/replayed");
        await makeRepo(platform(), group);
        const { page, complaints } = await console.open(`/view/subscriptions/${uid}`);
        const row = page.getByRole("row", { name: /platform\.registry\.repo\.created/ });
        await row.getByText("status 500").waitFor();
        await screenshot(page, "delivery-refused");
        status = 200;
        await row.getByRole("button", { name: "Replay" }).click();
        await row.getByText("Delivered").waitFor();
        const ids = new Set(sink.at("/replayed").map(({ headers }) => headers["ce-id"]));
        expect(ids.size).toBe(1);
        expect(sink.at("/replayed").length).toBeGreaterThan(1);
        await page.getByText("Pending", { exact: true }).click();
        await page.getByText("No deliveries match.").waitFor();
        expect(page.url()).toContain("STATE_PENDING");
        await screenshot(page, "delivery-replayed");
        expect(complaints).toEqual([]);
        await page.context().close();
      });

      test("a subscription is paused, tried by a test event, resumed, and given another secret", async () => {
        status = 200;
        const { uid } = await subscribe("/paused");
        const { page, complaints } = await console.open(`/view/subscriptions/${uid}`);
        await page.getByRole("button", { name: "Pause" }).click();
        await page.getByText(/^Paused /).waitFor();
        await page.getByRole("button", { name: "Send a test event" }).click();
        const row = page.getByRole("row", { name: /delivery\.test/ });
        await row.getByText("Pending").waitFor();
        expect(sink.at("/paused")).toEqual([]);
        await page.getByRole("button", { name: "Resume" }).click();
        await row.getByText("Delivered").waitFor();
        await page.getByRole("button", { name: "Rotate the secret" }).click();
        await page.getByRole("button", { name: "Rotate", exact: true }).click();
        await page.getByText(/^whsec_/).waitFor();
        await screenshot(page, "secret-rotated");
        await page.getByRole("button", { name: "Done" }).click();
        await page.getByText(/^The signing secret before the current one ends/).waitFor();
        await page.getByRole("link", { name: "Choose event types" }).click();
        await page.getByRole("heading", { level: 1, name: /^Edit/ }).waitFor();
        await screenshot(page, "event-types");
        expect(await seriousFindings(page)).toEqual([]);
        expect(complaints).toEqual([]);
        await page.context().close();
      });
    });
  },
  { allowLoopbackSinks: true },
);
