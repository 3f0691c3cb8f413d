/** Leaves options out of .proto source, and keeps its comments and layout. */

/** A string, a comment, a bracket, a separator, or what stands between them. */
const tokens = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\/\/.*|\/\*[\s\S]*?\*\/|[[\]{},;]|[^"'/[\]{},;]+|\//g;

/** The name of an option in a list or a statement: `(buf.validate.field).string.max_len`. */
const optionName = /^(?:\s|\/\/.*|\/\*[\s\S]*?\*\/)*(?:option\s+)?([\w.()]+)/;

/** `source` without the options of fields, oneofs, messages and files whose names `isLeftOut` accepts. */
export function withoutOptions(source: string, isLeftOut: (name: string) => boolean): string {
  const parts = source.match(tokens) ?? [];
  let result = "";
  let at = 0;
  /** Reads to the first of `ends` that is in no bracket. */
  const readTo = (...ends: string[]): string => {
    const start = at;
    for (let depth = 0; at < parts.length; at++) {
      const part = parts[at]!;
      if (depth === 0 && ends.includes(part)) break;
      if (part === "[" || part === "{") depth++;
      if (part === "]" || part === "}") depth--;
    }
    return parts.slice(start, at).join("");
  };
  const isKept = (option: string) => !isLeftOut(optionName.exec(option)?.[1] ?? "");
  while (at < parts.length) {
    if (/^\s*option\s/.test(parts[at]!)) {
      const statement = readTo(";") + parts[at++];
      if (isKept(statement)) result += statement;
    } else if (parts[at] === "[") {
      const list: string[] = [];
      do {
        at++;
        list.push(readTo(",", "]"));
      } while (parts[at] === ",");
      at++;
      const kept = list.filter(isKept).map((option) => option.trimEnd());
      const end = /\s*$/.exec(list.at(-1)!)![0];
      result = kept.length > 0 ? `${result}[${kept.join(",")}${end}]` : result.trimEnd();
    } else result += parts[at++];
  }
  return result;
}
