/** Instruments of the database. */
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { durationBoundaries } from "../../histogram/index.ts";
import { type Metrics, seriesBy } from "../../metrics/index.ts";
import type { Database } from "../../store/index.ts";
import type { Availability } from "../availability.ts";

/** Adds them. */
export function measureDatabase(metrics: Metrics, { stats }: Database, availability: Pick<Availability, "isUp">): void {
  metrics.add({
    name: "platform.database.up",
    kind: "gauge",
    description: "1 while the database is available, else 0.",
    read: () => Number(availability.isUp),
  });
  metrics.add({
    name: "db.client.operation.duration",
    kind: "histogram",
    description: "How long reads outside transactions, transactions with their commit, and long queries took.",
    unit: "s",
    boundaries: durationBoundaries,
    read: () =>
      seriesBy(
        "db.operation.name",
        Object.entries(stats.durations).map(([name, { value }]) => [name, value]),
      ),
  });
  metrics.add({
    name: "platform.database.transactions",
    kind: "counter",
    description: "Transactions that have been committed.",
    read: () => stats.transactions,
  });
  metrics.add({
    name: "platform.database.commits",
    kind: "counter",
    description: "Commits: one makes several transactions durable.",
    read: () => stats.commits,
  });
  metrics.add({
    name: "platform.database.conflicts",
    kind: "counter",
    description: "How often a transaction ran again after a conflict, or waited for another process.",
    read: () => stats.conflicts,
  });
  metrics.add({
    name: "platform.database.long_queries",
    kind: "upDownCounter",
    description: "Long queries that run, and that wait for others.",
    read: () => seriesBy("state", Object.entries(stats.longQueries())),
  });
  const { file, connections } = stats;
  if (file !== undefined) measureFile(metrics, file, stats);
  if (connections !== undefined) measurePool(metrics, connections);
}

function measureFile(
  metrics: Metrics,
  { path, logBytes }: NonNullable<Database["stats"]["file"]>,
  { checkpoints }: Database["stats"],
): void {
  metrics.add({
    name: "platform.database.log.size",
    kind: "gauge",
    description: "Size of the write-ahead log. On SQLite.",
    unit: "By",
    read: logBytes,
  });
  metrics.add({
    name: "platform.database.checkpoint.duration",
    kind: "histogram",
    description: "How long checkpoints of the write-ahead log took. On SQLite.",
    unit: "s",
    boundaries: durationBoundaries,
    read: () => checkpoints.value,
  });
  metrics.add({
    name: "platform.database.disk.available",
    kind: "gauge",
    description: "Free space on the disk of the database. On SQLite.",
    unit: "By",
    async read() {
      const { bavail, bsize } = await statfs(dirname(path));
      return bavail * bsize;
    },
  });
}

function measurePool(metrics: Metrics, read: NonNullable<Database["stats"]["connections"]>): void {
  metrics.add({
    name: "db.client.connection.count",
    kind: "upDownCounter",
    description: "Connections to the database, by state. On PostgreSQL.",
    read() {
      const { used, idle } = read();
      return seriesBy("db.client.connection.state", Object.entries({ used, idle }));
    },
  });
  metrics.add({
    name: "db.client.connection.max",
    kind: "upDownCounter",
    description: "The most connections to the database. On PostgreSQL.",
    read: () => read().max,
  });
  metrics.add({
    name: "db.client.connection.pending_requests",
    kind: "upDownCounter",
    description: "Transactions that wait for a connection. On PostgreSQL.",
    read: () => read().waiting,
  });
}
