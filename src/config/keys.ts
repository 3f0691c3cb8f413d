/** The settings of keys that are rotated. */

/** 32 bytes, or the key that is stored in the database. */
type SecretKey = Buffer | "database";

const aKey = " *(database|[0-9a-fA-F]{64}) *";
const listOfKeys = `^${aKey}(,${aKey})*$`;

/** Parses keys, or `database`, separated by commas. */
function parseSecretKeys(value: string): readonly SecretKey[] {
  if (!new RegExp(listOfKeys).test(value))
    throw new Error("must be 64 hex digits, or database, or several of these separated by commas");
  return value.split(",").map((key) => (key.trim() === "database" ? "database" : Buffer.from(key.trim(), "hex")));
}

/** The keys of secrets in the database. The first seals, all open. */
export const secretKeySetting = {
  help:
    "key that encrypts secrets in the database, 64 hex digits, or `database` for the one stored in it; " +
    "others, separated by commas, only decrypt",
  placeholder: "HEX[,HEX]",
  default: "database",
  isSecret: true,
  parse: Object.assign(parseSecretKeys, { schema: { type: "string", pattern: listOfKeys } }),
} as const;

/** The keys that sign the platform's own tokens. */
export const signingKeySetting = {
  help:
    "file of the keys that sign the platform's own tokens, in PEM or as JSON Web Keys, or its content; the first signs " +
    "(default: keys stored in the database)",
  placeholder: "FILE",
  default: undefined,
  isSecret: true,
  parse: (text: string) => text,
} as const;
