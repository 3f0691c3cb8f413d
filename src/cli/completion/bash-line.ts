/** Words of a command line as bash reads them, and as it takes them from a completion. */

/** A command line up to the cursor. */
export interface BashLine {
  /** Without quotes. The last one is that at the cursor, and may be empty. */
  readonly words: readonly string[];
  /** The quote that is open at the cursor. */
  readonly quote: "" | '"' | "'";
  /** How many characters of the last word bash keeps; a reply takes the place of the others. */
  readonly kept: number;
}

/** Reads a line. @param breaks $COMP_WORDBREAKS: the characters after which bash completes anew. */
export function readLine(line: string, breaks: string): BashLine {
  const words: string[] = [];
  let word = "";
  let quote: BashLine["quote"] = "";
  let isInWord = false;
  let kept = 0;
  for (let i = 0; i < line.length; i++) {
    const char = line[i]!;
    const isQuote = char === '"' || char === "'";
    if (quote === "" && /\s/.test(char)) {
      if (isInWord) words.push(word);
      word = "";
      isInWord = false;
      kept = 0;
      continue;
    }
    isInWord = true;
    if (isQuote && (quote === "" || quote === char)) {
      quote = quote === "" ? char : "";
      kept = word.length;
    } else if (char === "\\" && (quote === "" || (quote === '"' && /["\\$`]/.test(line[i + 1] ?? "")))) {
      word += line[++i] ?? "";
    } else {
      word += char;
      if (quote === "" && breaks.includes(char)) kept = word.length;
    }
  }
  return { words: [...words, word], quote, kept };
}

/** What bash inserts for a value that begins with the last word: quoted like what is there. */
export function replyFor(value: string, { quote, kept }: BashLine): string {
  const rest = value.slice(kept);
  if (quote === "'") return rest.replaceAll("'", "'\\''");
  if (quote === '"') return rest.replace(/["\\$`]/g, "\\$&");
  return rest.replace(/[^\w./:=@%+,\-\u0080-\uffff]/g, "\\$&");
}
