/** The rows of the benchmark: which requests are compared with which peers. */
import type { Measured } from "./load.ts";
import type { RequestName } from "./requests.ts";

/** A row of the table. */
export interface Row {
  /** Request and peer: `rest.get/fastify`. */
  readonly name: string;
  readonly request: RequestName;
  /** A program of the folder `peers`, the platform on fewer rows or without something, SQLite, or a running server. */
  readonly peer:
    | { readonly program: string }
    | { readonly rows: number }
    | { readonly without: "metrics" }
    | "sqlite"
    | { readonly address: string };
  /** Request to the peer, if it differs. */
  readonly peerRequest?: RequestName;
  /** Number of repos of the platform. */
  readonly rows: number;
  /** Concurrent requests. */
  readonly concurrency: number;
  /** The figure to compare. Higher rates and lower times are better. */
  readonly figure: keyof Measured;
  /** The accepted ratio and the target. A row without them is informational. */
  readonly bar?: readonly [accepted: number, aim: number];
  /** Whether the row is part of `--quick`, and measured on PostgreSQL. */
  readonly isMain: boolean;
}

const mainRows = 100_000;
const saturated = { rows: mainRows, concurrency: 32, figure: "perSecond" } as const;
const byProgram = (request: RequestName, program: string) => ({
  ...saturated,
  name: `${request}/${program}`,
  request,
  peer: { program },
});
const main = { isMain: true };
const more = { isMain: false };
const plainConnect = (request: RequestName) => byProgram(request, "connect-node");

/** What measuring costs. */
const unmeasured = (request: RequestName): Row => ({
  ...saturated,
  name: `${request}/no-metrics`,
  request,
  peer: { without: "metrics" },
  bar: [0.97, 1],
  isMain: false,
});

const fixed: readonly Row[] = [
  { ...byProgram("rest.get", "node-http"), ...main, bar: [0.6, 0.8] },
  { ...byProgram("rest.list50", "node-http"), ...main, bar: [0.4, 0.6] },
  { ...byProgram("rest.get", "fastify"), ...main, bar: [1, 1.2] },
  { ...byProgram("rest.get", "fastify"), ...main, name: "rest.get.p99/fastify", figure: "p99Ms", bar: [2, 1] },
  { ...byProgram("rest.list50", "fastify"), ...main, bar: [0.9, 1.2] },
  { ...byProgram("grpc.get", "grpc-js"), ...main, bar: [1.2, 1.5] },
  { ...byProgram("grpc.list50", "grpc-js"), ...main, bar: [1.1, 2] },
  { ...byProgram("connect.get", "node-http"), ...main, name: "connect.get/node-http-post", bar: [0.6, 0.7] },
  { ...byProgram("connect.list50", "node-http"), ...more, name: "connect.list50/node-http-post" },
  { ...plainConnect("rest.get"), ...main, peerRequest: "connect.get", bar: [5, 10] },
  { ...plainConnect("connect.get"), ...main, bar: [5, 10] },
  { ...plainConnect("grpc.get"), ...main, bar: [5, 10] },
  { ...plainConnect("connect.list50"), ...more },
  { ...plainConnect("grpc.list50"), ...more },
  { ...byProgram("rest.get", "net-http"), ...more, bar: [0.95, 1.1] },
  { ...byProgram("rest.list50", "net-http"), ...more, bar: [1.15, 1.5] },
  { ...byProgram("grpc.get", "grpc-go"), ...more, bar: [1.3, 1.6] },
  { ...byProgram("grpc.list50", "grpc-go"), ...more, bar: [1.25, 1.7] },
  { ...byProgram("rest.get", "axum"), ...more, bar: [0.42, 0.5] },
  { ...byProgram("rest.list50", "axum"), ...more, bar: [0.48, 0.6] },
  { ...byProgram("grpc.get", "tonic"), ...more, bar: [0.65, 0.8] },
  { ...byProgram("grpc.list50", "tonic"), ...more, bar: [0.58, 0.75] },
  { ...byProgram("connect.get", "connect-go"), ...more },
  { ...byProgram("grpc.get", "connect-go"), ...more },
  { ...byProgram("rest.get", "grpc-gateway"), ...more },
  { ...byProgram("rest.list50", "grpc-gateway"), ...more },
  unmeasured("rest.get"),
  unmeasured("grpc.get"),
];

const created = (request: RequestName, isMain: boolean): Row => ({
  ...saturated,
  name: `${request}/sqlite-insert`,
  request,
  peer: "sqlite",
  concurrency: 50,
  bar: [0.8, 2],
  isMain,
});

/** Compares the times of sequential calls on many rows with those on few rows. */
const sized = (request: RequestName, rows: number, label: string, isMain: boolean): Row => ({
  name: `${label}.${shortened(rows)}/1k.time`,
  request,
  peer: { rows: 1_000 },
  rows,
  concurrency: 1,
  figure: "medianMs",
  bar: [2, 1.2],
  isMain,
});

const shortened = (rows: number) => (rows < 1_000_000 ? `${rows / 1_000}k` : `${rows / 1_000_000}m`);

/** The rows of a run: the main ones or all, optionally with ten million repos and additional peers. */
export function rowsOf(options: { quick: boolean; large: boolean; peers: readonly string[] }): Row[] {
  const byAddress = options.peers.flatMap((peer) => {
    const [name = "", address = ""] = peer.split("=");
    return (["rest.get", "rest.list50"] as const).map(
      (request): Row => ({ ...saturated, ...main, name: `${request}/${name}`, request, peer: { address } }),
    );
  });
  const sizes = [100_000, 1_000_000, ...(options.large ? [10_000_000] : [])];
  const all = [
    ...fixed,
    ...byAddress,
    created("rest.create", true),
    created("connect.create", false),
    created("grpc.create", false),
    ...sizes.map((rows) => sized("rest.list50.all", rows, "rest.list50", rows !== 100_000)),
    ...sizes.map((rows) => sized("rest.list50", rows, "rest.list50.group", false)),
  ];
  return all.filter(({ isMain }) => isMain || !options.quick);
}

/** Whether a ratio meets `limit`. */
export function reaches({ figure }: Pick<Row, "figure">, ratio: number, limit: number): boolean {
  return figure === "perSecond" ? ratio >= limit : ratio <= limit;
}
