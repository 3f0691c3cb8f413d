/**
 * From method and path to a binding, through a tree of segments.
 *
 * At each segment a literal is tried before `*`, `*` before `**`, and for `**` the longest tail first, whatever the
 * order of registration; a candidate without the HTTP method is skipped. Matching is on the raw path, so an
 * escaped slash or colon is data.
 *
 * Empty segments: `*` never matches one. `**` matches any number of segments, empty ones among them: `/groups/a/` and
 * `/groups/a//b` capture `a/` and `a//b`. Services decide what such a value means.
 *
 * A colon that no verb begins is data, unless the host says that the last segment's value never has one: then the path
 * is unknown.
 */
import type { Binding } from "./binding.ts";
import { isRequired, leafField } from "./field-path.ts";
import { captureOf } from "./path.ts";
import { normalizeSegment } from "./template.ts";

/** The result of routing a request. */
export type RouteMatch =
  | { readonly kind: "found"; readonly binding: Binding /** Raw, the verb cut off. */; readonly segments: string[] }
  | { readonly kind: "wrong method"; readonly allow: string[] }
  | { readonly kind: "unknown path" };

interface Node {
  readonly literals: Map<string, Node>;
  star: Node | undefined;
  doubleStar: Node | undefined;
  /** Bindings that end here, by verb (empty for none), then HTTP method. */
  readonly ends: Map<string, Map<string, Binding>>;
  /** Length of the longest template below. */
  height: number;
}

function createNode(): Node {
  return { literals: new Map(), star: undefined, doubleStar: undefined, ends: new Map(), height: 0 };
}

/** Routes requests to bindings. */
export class Router {
  readonly #root = createNode();
  readonly #verbs = new Set<string>();
  readonly #mayEndInColon: (binding: Binding) => boolean;

  /**
   * @param bindings no two match the same requests.
   * @param mayEndInColon whether what a binding captures of the last segment may contain a colon; default yes.
   */
  constructor(bindings: Iterable<Binding>, mayEndInColon: (binding: Binding) => boolean = () => true) {
    this.#mayEndInColon = mayEndInColon;
    for (const binding of bindings) this.#add(binding);
  }

  #add(binding: Binding): void {
    const { segments, verb = "" } = binding.template;
    let node = this.#root;
    for (const [index, segment] of segments.entries()) {
      node.height = Math.max(node.height, segments.length - index);
      node = child(node, segment.kind === "literal" ? segment.text : segment.kind, segment.kind);
    }
    const byMethod = node.ends.get(verb) ?? new Map<string, Binding>();
    node.ends.set(verb, byMethod.set(binding.httpMethod, binding));
    this.#verbs.add(verb);
  }

  /** Finds the binding for a raw path, without query. HEAD is served by GET. */
  match(httpMethod: string, path: string): RouteMatch {
    if (!path.startsWith("/")) return { kind: "unknown path" };
    const segments = path.slice(1).split("/");
    const last = segments.at(-1) as string;
    const colon = last.lastIndexOf(":");
    if (colon >= 0) {
      const verb = normalizeSegment(last.slice(colon + 1));
      if (verb !== "" && this.#verbs.has(verb)) {
        const match = this.#find(httpMethod, segments.with(-1, last.slice(0, colon)), verb);
        if (match.kind !== "unknown path") return match;
      }
    }
    return this.#find(httpMethod, segments, "");
  }

  #find(httpMethod: string, segments: string[], verb: string): RouteMatch {
    const hasOwnColon = verb === "" && segments.at(-1)?.includes(":") === true;
    const walk = new Walk(httpMethod, segments, verb, hasOwnColon ? this.#mayEndInColon : anyBinding);
    walk.from(this.#root, 0);
    if (walk.found !== undefined) return { kind: "found", binding: walk.found, segments };
    if (walk.allow === undefined) return { kind: "unknown path" };
    if (walk.allow.has("GET")) walk.allow.add("HEAD");
    return { kind: "wrong method", allow: [...walk.allow].sort() };
  }
}

function anyBinding(): boolean {
  return true;
}

function child(node: Node, text: string, kind: "literal" | "*" | "**"): Node {
  if (kind === "*") {
    node.star ??= createNode();
    return node.star;
  }
  if (kind === "**") {
    node.doubleStar ??= createNode();
    return node.doubleStar;
  }
  const next = node.literals.get(text) ?? createNode();
  node.literals.set(text, next);
  return next;
}

class Walk {
  readonly #httpMethod: string;
  readonly #segments: readonly string[];
  readonly #verb: string;
  readonly #mayEnd: (binding: Binding) => boolean;
  /** The first binding that matches. */
  found: Binding | undefined;
  /** The HTTP methods of the bindings that match except for their method, if there are any. */
  allow: Set<string> | undefined;

  constructor(httpMethod: string, segments: readonly string[], verb: string, mayEnd: (binding: Binding) => boolean) {
    this.#httpMethod = httpMethod;
    this.#segments = segments;
    this.#verb = verb;
    this.#mayEnd = mayEnd;
  }

  /** Matches the segments from `at` on below the node. Returns whether a binding was found. */
  from(node: Node, at: number): boolean {
    if (at === this.#segments.length)
      return this.#end(node) || (node.doubleStar !== undefined && this.from(node.doubleStar, at));
    const raw = this.#segments[at] as string;
    if (raw !== "") {
      const literal = node.literals.get(raw.includes("%") ? normalizeSegment(raw) : raw);
      if (literal !== undefined && this.from(literal, at + 1)) return true;
      if (node.star !== undefined && this.from(node.star, at + 1)) return true;
    }
    return node.doubleStar !== undefined && this.#fromDoubleStar(node.doubleStar, at);
  }

  #fromDoubleStar(tail: Node, start: number): boolean {
    for (let end = Math.max(start, this.#segments.length - tail.height); end <= this.#segments.length; end++)
      if (this.from(tail, end)) return true;
    return false;
  }

  #end(node: Node): boolean {
    const byMethod = node.ends.get(this.#verb);
    if (byMethod === undefined) return false;
    const httpMethod = this.#httpMethod;
    this.found =
      this.#bindingOf(byMethod, httpMethod) ??
      (httpMethod === "HEAD" ? this.#bindingOf(byMethod, "GET") : undefined) ??
      this.#bindingOf(byMethod, "*");
    if (this.found === undefined) {
      const isFirst = this.allow === undefined;
      for (const [served, binding] of byMethod)
        if (this.#mayEnd(binding) && this.#isServed(binding, isFirst))
          this.allow = (this.allow ?? new Set()).add(served);
    }
    return this.found !== undefined;
  }

  #bindingOf(byMethod: ReadonlyMap<string, Binding>, httpMethod: string): Binding | undefined {
    const binding = byMethod.get(httpMethod);
    return binding !== undefined && this.#mayEnd(binding) ? binding : undefined;
  }

  /**
   * Whether a binding can serve the path: no required field is empty, and `**` does not capture a literal of another
   * template (`/repos/1/readme`).
   */
  #isServed(binding: Binding, isFirst: boolean): boolean {
    return binding.variables.every((variable) => {
      if (captureOf(variable, binding, this.#segments, "keep") !== "") return isFirst || !variable.isMultiSegment;
      return variable.path.length === 1 && !isRequired(leafField(variable.path));
    });
  }
}
