/** The table of events in docs/events.md, which is written apart from the annotations that the server reads. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getOption, hasOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { resource } from "../../gen/google/api/resource_pb.ts";
import {
  Event_Audience,
  events,
  type ResourceEvents,
  resource_events,
} from "../../gen/platform/annotations/annotations_pb.ts";
import { repository } from "../cli/platform-process.ts";
import { expectNoFaults } from "../faults.ts";
import { messagesIn, protoFile, servedServices } from "./generated.ts";

const page = readFileSync(join(repository, "docs/events.md"), "utf8");
const cells = [...page.matchAll(/^\| (`[a-z_.]+\.v1`.*?) \|/gm)].map(([, cell]) => cell!);
const listed = new Set(
  cells.flatMap((cell) => {
    const [first, ...others] = [...cell.matchAll(/`([a-z_.]+\.v1)`/g)].map(([, type]) => type!);
    return [first!, ...others.map((suffix) => first!.replace(/\.[a-z]+\.v1$/, suffix))];
  }),
);

const methods = servedServices.flatMap((service) => service.methods);
const ofMethods = methods
  .filter((method) => hasOption(method, events) && getOption(method, events).audience === Event_Audience.CUSTOMER)
  .map((method) => [getOption(method, events).type, method.name, protoFile(method.parent)] as const);
const ofImports = [...messagesIn(methods.map(({ output }) => output))]
  .filter((message) => hasOption(message, resource) && hasOption(message, resource_events))
  .flatMap((message) => {
    const { created, updated, fixed, deleted }: ResourceEvents = getOption(message, resource_events);
    return [created, updated, fixed, deleted].map((type) => [type, message.name, protoFile(message)] as const);
  });
const emitted = new Map(
  [...ofMethods, ...ofImports].map(([type, ...from]) => [type.replace("dev.platform.api.", ""), from]),
);

test("has every event", () => {
  expectNoFaults(
    [...emitted]
      .filter(([type]) => !listed.has(type))
      .map(([type, [name, file]]) => `docs/events.md: the table has no ${type}, the event of ${name} in ${file}`),
  );
  expect(emitted.size).toBeGreaterThan(30);
});

/** The event of no change: a subscription gets it from SendTestEvent. */
const ofTest = "delivery.test.v1";

test("has no other event", () => {
  expectNoFaults(
    [...listed]
      .filter((type) => type !== ofTest && !emitted.has(type))
      .map((type) => `docs/events.md: nothing emits ${type}`),
  );
});
