/** HTML from templates. */

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text that is HTML already. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** HTML from a template literal. Values are escaped, unless they are HTML. */
export function html(strings: TemplateStringsArray, ...values: readonly (string | Html | readonly Html[])[]): Html {
  const texts = values.map((value) => {
    if (value instanceof Html) return value.text;
    if (typeof value === "string") return value.replace(/[&<>"']/g, (character) => escapes[character]!);
    return value.map(({ text }) => text).join("");
  });
  return new Html(strings.map((string, i) => string + (texts[i] ?? "")).join(""));
}
