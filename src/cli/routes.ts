/** `platform routes`: prints the REST bindings of the contract. */
import { Command } from "commander";
import { listRoutes } from "../rest/index.ts";
import { contractServices } from "../services/index.ts";

export function makeCommand(): Command {
  return new Command("routes").action(() => {
    process.stdout.write(formatRoutes());
  });
}

/** One line for each binding: HTTP method, path template, body, method. */
export function formatRoutes(): string {
  const rows = listRoutes(contractServices).map(({ httpMethod, template, body, method }) => [
    httpMethod,
    template,
    body || "-",
    method,
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}\n`).join("");
}
