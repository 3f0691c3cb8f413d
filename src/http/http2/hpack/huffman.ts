/**
 * Decodes the Huffman code of HPACK, RFC 7541 section 5.2 and appendix B, four bits at a time. The code is canonical:
 * it follows from the lengths of its words.
 */

/** The length in bits of the word of each byte and, at the end, of EOS, in base 36. */
const wordLengths =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca" +
  "d67777777777777777777777878djde6f56565666577666567655677777fbeds" +
  "kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn" +
  "qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu";

const eos = 256;

/** The tree of words: the two children of each inner node. A negative child is the symbol `-1 - child`. */
const tree: [number, number][] = [[0, 0]];
/** Nodes at which a string may end: the beginning of EOS, at most seven bits. */
const isEnd: boolean[] = [true];

function addWord(symbol: number, word: number, length: number): void {
  let node = 0;
  for (let bit = length - 1; bit >= 0; bit--) {
    const side = ((word >>> bit) & 1) as 0 | 1;
    if (bit === 0) tree[node]![side] = -1 - symbol;
    else if (tree[node]![side] === 0) {
      tree[node]![side] = tree.push([0, 0]) - 1;
      isEnd.push(symbol === eos && length - bit <= 7);
    }
    node = tree[node]![side];
  }
}

const bySize = Array.from(wordLengths, (digit, symbol) => ({ symbol, length: Number.parseInt(digit, 36) })).sort(
  (a, b) => a.length - b.length || a.symbol - b.symbol,
);
let next = 0;
let lastLength = 0;
const words = bySize.map(({ symbol, length }) => {
  next <<= length - lastLength;
  lastLength = length;
  return { symbol, length, word: next++ };
});
// EOS, the last word, is added first, so that the nodes of its path are marked.
for (const { symbol, word, length } of words.reverse()) addWord(symbol, word, length);

/** For each node and four bits: the next node and, in the high half, the symbol that they complete, plus one. */
const steps = new Uint32Array(tree.length * 16);
for (const node of tree.keys()) {
  for (let bits = 0; bits < 16; bits++) {
    let at = node;
    let symbol = -1;
    for (let bit = 3; bit >= 0; bit--) {
      at = tree[at]![((bits >>> bit) & 1) as 0 | 1];
      if (at >= 0) continue;
      symbol = -1 - at;
      at = 0;
    }
    steps[node * 16 + bits] = ((symbol + 1) << 16) | at;
  }
}

let scratch = Buffer.alloc(4096);

/** The text, in latin1, of coded bytes; undefined if they are malformed. */
export function huffmanDecode(bytes: Buffer, start: number, end: number): string | undefined {
  const maxLength = Math.ceil(((end - start) * 8) / 5);
  if (maxLength > scratch.length) scratch = Buffer.alloc(maxLength);
  let length = 0;
  let node = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    for (let bits = byte >>> 4, half = 0; half < 2; bits = byte & 15, half++) {
      const step = steps[node * 16 + bits]!;
      const symbol = step >>> 16;
      node = step & 0xffff;
      if (symbol > eos) return undefined;
      if (symbol > 0) scratch[length++] = symbol - 1;
    }
  }
  return isEnd[node] ? scratch.toString("latin1", 0, length) : undefined;
}
