/** What backups and restores print. */

import { ProgressLine } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import type { BackupHeader } from "./file.ts";
import { sizeText } from "./options.ts";

/** Reports the progress of a step. */
export class Progress {
  readonly #line = new ProgressLine();

  step(name: string, bytes: number, total: number): void {
    this.#line.show(() => {
      const percent = total === 0 ? 100 : Math.floor((bytes / total) * 100);
      return `${name}: ${sizeText(bytes)} of ${sizeText(total)}, ${percent} %`;
    });
  }

  end(): void {
    this.#line.clear();
  }
}

/** The lines that describe what is in a backup. */
export function contentsText(header: BackupHeader): string {
  const { tables, encryption } = header;
  const filled = Object.entries(tables).filter(([, rows]) => rows > 0);
  const total = filled.reduce((sum, [, rows]) => sum + rows, 0);
  const facts: [string, string][] = [
    ["time", header.time],
    ["version", header.product],
    ["schema", header.schema.at(-1) ?? "none"],
    ["database", `${sizeText(header.bytes)}, sha256:${header.sha256}`],
    ["encryption", encryption === undefined ? "none" : `${encryption.cipher}, key ${encryption.keyId}`],
    ["rows", total.toLocaleString("en")],
    ...filled.map(([table, rows]): [string, string] => [`  ${table}`, rows.toLocaleString("en")]),
  ];
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${printable(`${name.padEnd(width)}  ${value}`)}\n`).join("");
}
