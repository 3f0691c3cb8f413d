/** Where and how the values of a document are written. */
import type { Event, ScalarEvent } from "js-yaml";
import { CommandFailure } from "../../command/index.ts";

/** Keys and indexes from a document down to a value. */
export type ValuePath = readonly (string | number)[];

/** Where the values of a document come from. */
export interface Source {
  /** `roles.yaml:12`: the file and the line of a value or, if it is not there, of the nearest above it. */
  placeOf(path: ValuePath): string;
  /** How a text or a number is written: `1.0` for 1; undefined where that is not known. */
  textOf(path: ValuePath): string | undefined;
}

/** A failure whose lines begin with the places of what they are about. */
export class PlacedFailure extends CommandFailure {}

/** What is wrong with fields, by their paths. */
export class FieldFailure extends CommandFailure {
  readonly #problems: readonly { readonly path: ValuePath; readonly text: string }[];

  constructor(problems: readonly { readonly path: ValuePath; readonly text: string }[], exitStatus = 2) {
    super(
      problems.map(({ text }) => text),
      exitStatus,
    );
    this.#problems = problems;
  }

  /** The failure with the place of each field. */
  at(source: Source): PlacedFailure {
    return new PlacedFailure(
      this.#problems.map(({ path, text }) => [source.placeOf(path), text].filter(Boolean).join(": ")),
      this.exitStatus,
    );
  }
}

/** Values that are all in one place, as those of options. @param place "" for one that needs no words. */
export function onePlace(place: string): Source {
  return { placeOf: () => place, textOf: () => undefined };
}

/** The source of the value at a path. @param label what its places say after the line. */
export function sourceBelow(source: Source, above: ValuePath, label?: string): Source {
  return {
    placeOf: (path) => `${source.placeOf([...above, ...path])}${label === undefined ? "" : `: ${label}`}`,
    textOf: (path) => source.textOf([...above, ...path]),
  };
}

/** The path of a field as violations name it: `claim_match.claims["a"]`, `bundles[2]`. */
export function pathOfField(field: string): string[] {
  return [...field.matchAll(/"((?:[^"\\]|\\.)*)"|[^.[\]]+/g)].map(([part, quoted]) => quoted ?? part);
}

/** A value in a text. */
interface WrittenValue {
  /** Where it begins; of the value of a key, where the key begins. */
  readonly position: number;
  /** Of a scalar. */
  readonly text?: string;
  /** By key or index. */
  readonly children: ReadonlyMap<string, WrittenValue>;
}

/** The documents of a YAML text. */
export class WrittenDocuments {
  readonly #name: string;
  readonly #text: string;
  readonly #events: readonly Event[];
  readonly #scalarOf: (text: string, event: ScalarEvent) => string;
  #lines: readonly number[] | undefined;
  #values: readonly WrittenValue[] | undefined;

  /** @param name of the file. @param scalarOf reads a scalar. */
  constructor(
    name: string,
    text: string,
    events: readonly Event[],
    scalarOf: (text: string, event: ScalarEvent) => string,
  ) {
    this.#name = name;
    this.#text = text;
    this.#events = events;
    this.#scalarOf = scalarOf;
  }

  /** The source of a document, or of a value in it. */
  source(index: number, above: ValuePath): Source {
    const find = (path: ValuePath) => {
      this.#values ??= this.#read();
      return nearest(this.#values[index], [...above, ...path]);
    };
    return {
      placeOf: (path) => `${this.#name}:${this.#lineOf(find(path).value?.position ?? 0)}`,
      textOf: (path) => {
        const { value, isThere } = find(path);
        return isThere ? value?.text : undefined;
      },
    };
  }

  #lineOf(position: number): number {
    this.#lines ??= [...this.#text.matchAll(/\n/g)].map(({ index }) => index);
    let [low, high] = [0, this.#lines.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#lines[middle]! < position) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  }

  #read(): WrittenValue[] {
    const anchors = new Map<string, WrittenValue>();
    const documents: WrittenValue[] = [];
    let at = 0;
    const read = (): WrittenValue | undefined => {
      const event = this.#events[at++]!;
      if (event.type === eventTypes.pop || event.type === eventTypes.document) return undefined;
      const anchor = this.#text.slice(Math.max(0, event.anchorStart), Math.max(0, event.anchorEnd));
      if (event.type === eventTypes.alias)
        return { position: event.anchorStart, children: anchors.get(anchor)?.children ?? new Map() };
      const children = new Map<string, WrittenValue>();
      const isScalar = event.type === eventTypes.scalar;
      const value: WrittenValue = {
        position: isScalar ? event.valueStart : event.start,
        children,
        ...(isScalar && { text: this.#scalarOf(this.#text, event) }),
      };
      if (anchor !== "") anchors.set(anchor, value);
      if (event.type === eventTypes.sequence)
        for (let item = read(); item !== undefined; item = read()) children.set(String(children.size), item);
      if (event.type === eventTypes.mapping)
        for (let key = read(); key !== undefined; key = read())
          children.set(key.text ?? "", { ...read()!, position: key.position });
      return value;
    };
    while (at < this.#events.length) {
      read(); // the event of the document
      const value = read();
      if (value !== undefined) read(); // its end
      documents.push(value ?? { position: 0, children: new Map() });
    }
    return documents;
  }
}

/** Of js-yaml, which is loaded only for documents. */
const eventTypes = { document: 1, sequence: 2, mapping: 3, scalar: 4, alias: 5, pop: 6 } as const;

/** The value at a path, whose names are in JSON or proto form; that above it if it is not there. */
function nearest(value: WrittenValue | undefined, path: ValuePath) {
  let found = value;
  for (const key of path) {
    const name = String(key);
    const next = found?.children.get(name) ?? found?.children.get(toggledCase(name));
    if (next === undefined) return { value: found, isThere: false };
    found = next;
  }
  return { value: found, isThere: true };
}

/** `roleUid` for `role_uid`, and the other way round. */
function toggledCase(name: string): string {
  return name.includes("_")
    ? name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
