/**
 * Calls by method, protocol and code, and how long they took by method. All three together in a histogram would be
 * 100,000 series.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Code } from "@connectrpc/connect";
import { reasonOf } from "../errors.ts";
import { durationBoundaries, Histogram } from "../histogram/index.ts";
import type { Metrics, Series } from "./registry.ts";

const protocols = ["rest", "grpc", "grpc-web", "connect", "scim", "sts", "registry", "local"] as const;
const codeCount = 17;
const maxSeries = 300;
/** The label of all methods of v1 that v2 replaces, in the histogram. */
const v1 = "v1";

/** Counts calls. */
export class CallMetrics {
  /** `platform.iam.v2.GroupsService/GetGroup`, and `scim/createUser`. */
  readonly #names: readonly string[];
  readonly #indexes: ReadonlyMap<DescMethod | string, number>;
  readonly #protocols: ReadonlyMap<string, number> = new Map(protocols.map((protocol, i) => [protocol, i]));
  /** By method, protocol and code. */
  readonly #counts: Float64Array;
  readonly #durations: ReadonlyMap<string, Histogram>;
  readonly #durationOf: readonly Histogram[];
  #active = 0;

  /**
   * @param methods all methods that are served.
   * @param others the names of the calls that are not methods.
   */
  constructor(methods: readonly DescMethod[], others: readonly string[] = []) {
    this.#names = [...methods.map(({ parent, name }) => `${parent.typeName}/${name}`), ...others];
    this.#indexes = new Map([...methods, ...others].map((method, i) => [method, i]));
    this.#counts = new Float64Array(this.#names.length * protocols.length * codeCount);
    const packages = new Set(methods.map(packageOf));
    const isReplaced = (name: string) => name.endsWith(".v1") && packages.has(name.replace(/1$/, "2"));
    const labels = this.#names.map((name, i) => (i < methods.length && isReplaced(packageOf(methods[i]!)) ? v1 : name));
    this.#durations = new Map(labels.map((label) => [label, new Histogram(durationBoundaries)]));
    this.#durationOf = labels.map((label) => this.#durations.get(label)!);
  }

  /** Counts a call that begins. */
  begin(): void {
    this.#active++;
  }

  /** Counts a call that has ended. `code`: 0 for OK. */
  end(method: DescMethod | string, protocol: string, code: number, ms: number): void {
    this.#active--;
    const index = this.#indexes.get(method);
    if (index === undefined) return;
    const column = this.#protocols.get(protocol) ?? protocols.length - 1;
    this.#counts[(index * protocols.length + column) * codeCount + code]!++;
    this.#durationOf[index]!.record(ms / 1000);
  }

  /** Adds the instruments. */
  addTo(metrics: Metrics): void {
    metrics.add({
      name: "rpc.server.call.duration",
      kind: "histogram",
      description: "How long calls took, by method; those of v1 together.",
      unit: "s",
      boundaries: durationBoundaries,
      read: () =>
        Array.from(this.#durations, ([label, { value }]) => ({ labels: { "rpc.method": label }, value })).filter(
          ({ value }) => value.counts.some((count) => count > 0),
        ),
    });
    metrics.add({
      name: "platform.calls",
      kind: "counter",
      description: "Calls that have ended, by method, protocol and code.",
      limit: { series: maxSeries, label: "rpc.method", others: "_OTHER" },
      read: () => this.#read(),
    });
    metrics.add({
      name: "platform.calls.active",
      kind: "upDownCounter",
      description: "Calls under way.",
      read: () => this.#active,
    });
  }

  #read(): readonly Series[] {
    const series: Series[] = [];
    for (const [i, value] of this.#counts.entries()) {
      if (value === 0) continue;
      const code = i % codeCount;
      const place = (i - code) / codeCount;
      const labels = {
        "rpc.method": this.#names[Math.floor(place / protocols.length)]!,
        "rpc.system.name": protocols[place % protocols.length]!,
        "rpc.response.status_code": code === 0 ? "OK" : reasonOf(code as Code),
      };
      series.push({ labels, value });
    }
    return series;
  }
}

function packageOf({ parent }: DescMethod): string {
  return parent.file.proto.package;
}
