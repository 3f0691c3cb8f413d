/** Rules of a service configuration, which stand in for annotations. */
import { type DescMethod, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type HttpRule, HttpSchema } from "../../gen/google/api/http_pb.ts";

/**
 * The rules that select the methods, given by full name. A selector is a list of patterns as in
 * google/api/documentation.proto; of several rules for a method, the last counts. Patterns for methods of other
 * services are skipped. `httpRules`: google.api.Http in JSON. `problems`: rules without a selector, or for a method
 * that its service does not have.
 */
export function selectRules(
  methods: ReadonlyMap<string, DescMethod>,
  httpRules: JsonValue | undefined,
): { readonly rules: ReadonlyMap<DescMethod, HttpRule>; readonly problems: string[] } {
  const selected = new Map<DescMethod, HttpRule>();
  const problems: string[] = [];
  if (httpRules === undefined) return { rules: selected, problems };
  const services = new Set([...methods.values()].map(({ parent }) => parent.typeName));
  for (const rule of fromJson(HttpSchema, httpRules).rules) {
    for (const pattern of rule.selector.split(",").map((text) => text.trim())) {
      const found = [...methods].filter(([name]) => isSelected(name, pattern));
      if (pattern === "") problems.push("a rule has no selector");
      else if (found.length === 0 && services.has(pattern.slice(0, pattern.lastIndexOf("."))))
        problems.push(`${pattern}: a rule selects a method that does not exist`);
      for (const [, method] of found) selected.set(method, rule);
    }
  }
  return { rules: selected, problems };
}

/** Whether a pattern selects a method: its full name, `*` for all, or `package.*` for what is below. */
function isSelected(name: string, pattern: string): boolean {
  return pattern === "*" || pattern === name || (pattern.endsWith(".*") && name.startsWith(pattern.slice(0, -1)));
}
