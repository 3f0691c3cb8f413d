/** `platform compare`: what differs between two images. */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { Command } from "commander";
import type { Component, Finding } from "../../../gen/platform/findings/v1/findings_pb.ts";
import type { CompareImagesResponse } from "../../../gen/platform/findings/v1/images_pb.ts";
import { printable } from "../../log-text.ts";
import { withRepoUid } from "../images/image-name.ts";
import type { Column } from "../print/columns.ts";
import { printLines, printMessages, requireNames, terminalStyle, withOutput } from "../print/print.ts";
import { Table, type TableStyle } from "../print/table.ts";
import { viewOf } from "../print/views.ts";
import { callMethod } from "../session/call.ts";
import { inSession, withSession } from "../session/session.ts";
import { type FailOn, failOn, failOnOption } from "./fail-on.ts";
import { imagesService } from "./images.ts";

export function makeCommand(): Command {
  const command = withOutput(withSession(new Command("compare")))
    .description("Print what differs between two images: the packages, and the findings that are open.")
    .argument("<BASE>", "REPO:TAG or REPO@DIGEST, the repo by uid, name or path")
    .argument("<TARGET>", "the same; :TAG or @DIGEST alone are in the repo of the base")
    .addOption(failOnOption("a finding that only the target has"));
  return command.action((base: string, target: string) =>
    inSession(command, async (session) => {
      const method = imagesService().method.compareImages!;
      requireNames(command, method.output);
      const [from, to] = await Promise.all([withRepoUid(session, base), withRepoUid(session, target)]);
      const response = (await callMethod(session, method, { base: from, target: to })) as CompareImagesResponse;
      const { output, failOn: level } = command.opts<{ output: string; failOn?: FailOn }>();
      if (output === "table" || output === "wide")
        await printLines(linesOf(method.output, response, terminalStyle(output === "wide")));
      else await printMessages(command, method.output, [response], { single: true });
      failOn(response.findings?.opened ?? [], level);
    }),
  );
}

/** A row: a message that is in one of the images, or in both. */
interface Row<M> {
  readonly word: string;
  readonly before?: M | undefined;
  readonly after?: M | undefined;
}

/** Three tables: the images, the findings and the packages. */
export function linesOf(schema: DescMessage, response: CompareImagesResponse, style: TableStyle): string[] {
  const { base, target, components, findings } = response;
  const below = (...names: readonly string[]) => names.reduce((type, name) => type.field[name]!.message!, schema);
  const images = [
    { word: "base", before: base },
    { word: "target", after: target },
  ];
  const ofFindings = rowsOf<Finding>(findings?.opened, findings?.resolved, findings?.changed, ["new", "gone"]);
  const ofPackages = rowsOf<Component>(components?.added, components?.removed, components?.changed, [
    "added",
    "removed",
  ]);
  const image = below("base");
  const finding = below("findings", "opened");
  return [
    ...tableOf(images, "image", image, () => viewOf(image)!, style),
    "",
    titleOf("findings", ofFindings),
    ...tableOf(ofFindings, "change", finding, (rowOf) => findingColumns(viewOf(finding)!, rowOf), style),
    "",
    titleOf("packages", ofPackages),
    ...tableOf(ofPackages, "change", below("components", "added"), packageColumns, style),
  ];
}

/** Those that came first, those that are gone last. */
function rowsOf<M>(
  come: readonly M[] = [],
  gone: readonly M[] = [],
  changed: readonly { readonly before?: M | undefined; readonly after?: M | undefined }[] = [],
  [comeWord, goneWord]: readonly [string, string],
): Row<M>[] {
  return [
    ...come.map((after) => ({ word: comeWord, after })),
    ...changed.map(({ before, after }) => ({ word: "changed", before, after })),
    ...gone.map((before) => ({ word: goneWord, before })),
  ];
}

/** `findings: 2 new, 1 gone`. */
function titleOf(name: string, rows: readonly Row<unknown>[]): string {
  const counts = [...Map.groupBy(rows, ({ word }) => word)].map(([word, { length }]) => `${length} ${word}`);
  return `${name}: ${counts.length === 0 ? "no difference" : counts.join(", ")}`;
}

/** A table of rows, none without rows. @param heading of the words. */
function tableOf<M extends Message>(
  rows: readonly Row<M>[],
  heading: string,
  schema: DescMessage,
  columnsOf: (rowOf: (message: Message) => Row<M>) => readonly Column[],
  style: TableStyle,
): string[] {
  const byMessage = new Map<Message, Row<M>>();
  for (const row of rows) {
    const message = row.after ?? row.before;
    if (message !== undefined) byMessage.set(message, row);
  }
  if (byMessage.size === 0) return [];
  const rowOf = (message: Message) => byMessage.get(message)!;
  const word: Column = { heading: heading.toUpperCase(), kind: "name", cell: (message) => rowOf(message).word };
  const table = new Table(schema, style, undefined, [word, ...columnsOf(rowOf)]);
  const messages = [...byMessage.keys()];
  return [table.begin(messages), ...messages.map((message) => table.line(message))];
}

/** The columns of findings, and what differs of one that changed. */
function findingColumns(view: readonly Column[], rowOf: (message: Message) => Row<Finding>): Column[] {
  const compared = view.filter(({ heading }) => ["LEVEL", "FIXED-IN", "STATE"].includes(heading));
  const was: Column["cell"] = (message, style, names) => {
    const { before, after } = rowOf(message);
    if (before === undefined || after === undefined) return "";
    const texts = compared.map(({ heading, cell }) => {
      const [old, now] = [cell(before, style, names), cell(after, style, names)];
      return old === now ? "" : `${heading.toLowerCase()} ${old || "-"}`;
    });
    return texts.filter(Boolean).join(", ");
  };
  const shown = view.filter(({ heading }) => heading !== "IMAGE");
  return shown.toSpliced(4, 0, { heading: "WAS", kind: "text", cell: was });
}

/** The package, and its version in each of the images. */
function packageColumns(rowOf: (message: Message) => Row<Component>): Column[] {
  const version = (component: Component | undefined) => printable(component?.version ?? "");
  return [
    { heading: "PACKAGE", kind: "name", differsAtEnd: true, cell: (message) => nameText(message as Component) },
    { heading: "BASE", kind: "text", cell: (message) => version(rowOf(message).before) },
    { heading: "TARGET", kind: "text", cell: (message) => version(rowOf(message).after) },
  ];
}

/** `npm/@babel/core`. */
function nameText({ type, namespace, name }: Component): string {
  return printable([type, namespace, name].filter(Boolean).join("/"));
}
