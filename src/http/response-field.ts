/** What a header field of a response may be. */
import type { OutgoingHttpHeader } from "node:http";

const fieldName = /^[!#-'*+.^`|~\w-]+$/;
const fieldValue = /^[ -~]*$/;
const maxKnownNames = 1000;
/** Names that have been checked: responses repeat a few. */
const knownNames = new Set<string>();

function isName(name: string): boolean {
  if (knownNames.has(name)) return true;
  const isValid = fieldName.test(name);
  if (isValid && knownNames.size < maxKnownNames) knownNames.add(name);
  return isValid;
}

/** Errors: TypeError for a field that is not printable ASCII. */
export function checkField(name: string, value: OutgoingHttpHeader): void {
  const isValid = isName(name) && (typeof value === "number" || fieldValue.test(String(value)));
  if (!isValid) throw new TypeError(`the header field ${JSON.stringify(name)} is not printable ASCII`);
}
