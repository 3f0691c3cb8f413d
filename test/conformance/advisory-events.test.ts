/** Events of advisories, which calls of v1 and imports change: a subscription of the group receives them. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHere } from "../cli/run-here.ts";
import type { Json } from "./contract.ts";
import { type EventSink, jsonOf, shortType, startSink } from "./event-sink.ts";
import { makeGroup } from "./fixtures.ts";
import { methodFixtures } from "./method-fixtures.ts";
import { onEveryServer } from "./platform.ts";

onEveryServer(
  "advisory events",
  (platform) => {
    let sink: EventSink;
    let folder: string;
    beforeAll(async () => {
      sink = await startSink();
      folder = await mkdtemp(join(tmpdir(), "advisory-events-"));
    });
    afterAll(async () => {
      await sink?.close();
      await rm(folder, { recursive: true, force: true });
    });

    /** A group, and what its subscription receives of advisories. */
    async function subscribed() {
      const { uid: group } = await makeGroup(platform());
      const path = `/${randomUUID()}`;
      await platform().ok("CreateSubscription", { parent: group, subscription: { sink: sink.url(path) } });
      const arrived = () =>
        sink.at(path).filter((delivery) => shortType(delivery).startsWith("vulnerabilities.advisory."));
      /** Waits for the next event; nothing else comes before it. */
      async function next() {
        const { length } = seen;
        await expect.poll(() => arrived().length, { interval: 20 }).toBeGreaterThan(length);
        const event = arrived()[length]!;
        seen.push(event);
        return { type: shortType(event), ...event.headers, ...jsonOf(event) } as Json;
      }
      const seen: unknown[] = [];
      return { group, next };
    }

    /** Imports an advisory document of one package. */
    async function importDocument(group: string, advisories: readonly object[], ...more: string[]) {
      const file = join(folder, `${randomUUID()}.json`);
      const document = { "schema-version": "2.0.2", package: { name: "openssl" }, advisories };
      await writeFile(file, JSON.stringify(document));
      const { databaseUrl, baseUrl } = platform();
      const args = [
        "advisories",
        file,
        "--group",
        group,
        "--feed",
        "wolfi",
        "--database",
        databaseUrl,
        "--base-url",
        baseUrl,
      ];
      const { code, stderr } = await runHere(["import", ...args, ...more]);
      expect(code, stderr).toBe(0);
    }

    test("of calls of v1", async () => {
      const { group, next } = await subscribed();
      const { advisory } = await methodFixtures["v1.Advisories.Create"]!.request(platform(), group);
      const bare = { ...advisory, events: [] };
      const { id } = await platform().ok("v1.Advisories.Create", { parentId: group, advisory: bare });
      expect(await next()).toMatchObject({
        type: "vulnerabilities.advisory.created",
        "ce-source": `${platform().baseUrl}/vulnerabilities/v2/advisories`,
        "ce-subject": id,
        "ce-group": group,
        "ce-bodytype": "platform.vulnerabilities.v2.Advisory",
        actor: { subject: platform().administrator },
        body: { uid: id, advisoryId: advisory.advisoryId, artifactName: advisory.artifactName },
      });

      const fixed = { author: "you@example.com", fixed: { fixedVersion: "1.2.3" } };
      const pending = { parentId: id, advisoryEvent: { ...fixed, status: "PENDING" } };
      const { id: eventId } = await platform().ok("v1.Advisories.CreateAdvisoryEvent", pending);
      expect(await next()).toMatchObject({ type: "vulnerabilities.advisory.updated", body: { uid: id } });

      const approved = { ...fixed, id: eventId, status: "APPROVED" };
      await platform().ok("v1.Advisories.UpdateAdvisoryEvent", approved);
      expect(await next()).toMatchObject({
        type: "vulnerabilities.advisory.fixed",
        body: { events: [{ fixed: { fixedVersion: "1.2.3" } }] },
      });

      await platform().ok("v1.Advisories.UpdateAdvisoryEvent", approved); // changes nothing
      await platform().ok("v1.Advisories.Delete", { id });
      expect(await next()).toMatchObject({
        type: "vulnerabilities.advisory.deleted",
        "ce-subject": id,
        body: { uid: id, advisoryId: advisory.advisoryId },
      });
    });

    test("of imports", async () => {
      const { group, next } = await subscribed();
      const detected = {
        timestamp: "2026-01-02T03:04:05Z",
        type: "detection",
        data: { type: "manual", data: {} },
      };
      const fixed = { timestamp: "2026-01-03T03:04:05Z", type: "fixed", data: { "fixed-version": "3.0.7-r0" } };
      const advisory = (events: readonly object[]) => ({ id: "CGA-aaaa-bbbb-cccc", aliases: ["CVE-2026-1"], events });

      await importDocument(group, [advisory([detected])]);
      const created = await next();
      expect(created).toMatchObject({
        type: "vulnerabilities.advisory.created",
        "ce-source": `${platform().baseUrl}/vulnerabilities/v2/advisories`,
        "ce-group": group,
        actor: { subject: "import advisories" },
        body: { advisoryId: "CGA-aaaa-bbbb-cccc", artifactName: "openssl" },
      });

      await importDocument(group, [advisory([detected])]); // changes nothing
      await importDocument(group, [advisory([detected, fixed])]);
      expect(await next()).toMatchObject({
        type: "vulnerabilities.advisory.fixed",
        "ce-subject": created.body.uid,
        body: { events: [{ fixed: { fixedVersion: "3.0.7-r0" } }, {}] },
      });

      await importDocument(group, [], "--prune");
      expect(await next()).toMatchObject({
        type: "vulnerabilities.advisory.deleted",
        "ce-subject": created.body.uid,
        body: { advisoryId: "CGA-aaaa-bbbb-cccc" },
      });
    });
  },
  { allowLoopbackSinks: true },
);
