/** A collector of traces on this machine, which reads OTLP/JSON strictly: it refuses what is not in the protos. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { Ajv } from "ajv";

/** A span, with its kind by name and its attributes by key. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly name: string;
  readonly kind: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isError: boolean;
}

/** A running collector. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Attributes of the resource of the last export. */
  resource(): Readonly<Record<string, string | number>>;
  /** How many exports came. */
  exports(): number;
  /** Answers with this status from now on. */
  answer(status: number): void;
  close(): void;
}

const hex = (digits: number) => ({ type: "string", pattern: `^(?!0+$)[0-9a-f]{${digits}}$` });
const strict = (properties: object, required = Object.keys(properties)) => {
  return { type: "object", properties, required, additionalProperties: false };
};
const list = (items: object) => ({ type: "array", items });
const aString = { type: "string" };
const aCount = { type: "integer", minimum: 0 };
const nanoseconds = { type: "string", pattern: "^[1-9][0-9]{18}$" };
const attributes = list(
  strict({
    key: aString,
    value: {
      oneOf: [
        strict({ stringValue: aString }),
        strict({ intValue: { anyOf: [aCount, { type: "string", pattern: "^[0-9]+$" }] } }),
        strict({ doubleValue: { type: "number" } }),
      ],
    },
  }),
);
const span = strict(
  {
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: hex(16),
    traceState: aString,
    name: { type: "string", minLength: 1 },
    kind: { enum: [1, 2, 3, 4, 5] },
    startTimeUnixNano: nanoseconds,
    endTimeUnixNano: nanoseconds,
    attributes,
    droppedAttributesCount: aCount,
    events: { type: "array", maxItems: 0 },
    droppedEventsCount: aCount,
    links: { type: "array", maxItems: 0 },
    droppedLinksCount: aCount,
    flags: aCount,
    status: strict({ code: { enum: [0, 1, 2] }, message: aString }, []),
  },
  ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"],
);
const scope = strict({ name: aString, version: aString, attributes, droppedAttributesCount: aCount }, ["name"]);
const resource = strict({ attributes, droppedAttributesCount: aCount }, ["attributes"]);
const scopeSpans = strict({ scope, spans: list(span), schemaUrl: aString }, ["scope", "spans"]);
const resourceSpans = strict({ resource, scopeSpans: list(scopeSpans), schemaUrl: aString }, [
  "resource",
  "scopeSpans",
]);
const isExport = new Ajv().compile(strict({ resourceSpans: list(resourceSpans) }));
const kinds = ["unspecified", "internal", "server", "client", "producer", "consumer"];

/** Starts one. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  let resourceAttributes: Readonly<Record<string, string | number>> = {};
  let status = 200;
  let exports = 0;
  const server = createServer(async (request, response) => {
    exports++;
    const content = await json(request);
    if (request.url !== "/v1/traces" || request.method !== "POST" || !isExport(content)) {
      console.error(`not OTLP: ${request.method} ${request.url}: ${JSON.stringify(isExport.errors)}`);
      status = 400;
    }
    if (status === 200) {
      // biome-ignore lint/suspicious/noExplicitAny: its shape has just been checked
      for (const { resource, scopeSpans } of (content as any).resourceSpans) {
        resourceAttributes = attributesOf(resource.attributes);
        for (const { spans: ended } of scopeSpans) spans.push(...ended.map(collected));
      }
    }
    response.writeHead(status, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    resource: () => resourceAttributes,
    exports: () => exports,
    answer: (next) => {
      status = next;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: its shape has been checked
function collected(span: any): CollectedSpan {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    traceState: span.traceState,
    name: span.name,
    kind: kinds[span.kind]!,
    startNs: BigInt(span.startTimeUnixNano),
    endNs: BigInt(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes ?? []),
    isError: span.status?.code === 2,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: its shape has been checked
function attributesOf(list: any[]): Record<string, string | number> {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, value.stringValue ?? value.doubleValue ?? Number(value.intValue)]),
  );
}
