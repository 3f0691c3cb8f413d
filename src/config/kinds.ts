/** Kinds of settings: the placeholder, the default and the parser of several in the table. */
import { parseBaseUrl, parseChoice, parseCount, parseDuration, parseKey, parseRate, parseSwitch } from "./values.ts";

export const aUrl = { placeholder: "URL", default: undefined, parse: parseBaseUrl } as const;
export const aFile = { placeholder: "FILE", default: undefined, parse: (path: string) => path } as const;
export const aKey = { placeholder: "HEX", default: undefined, isSecret: true, parse: parseKey } as const;
export const aSwitch = { default: "false", parse: parseSwitch } as const;

export function aRate(byDefault: string) {
  return { placeholder: "RATE[/BURST]|off", default: byDefault, isReloadable: true, parse: parseRate } as const;
}

export function aChoice<const T extends string>(byDefault: T, ...choices: readonly T[]) {
  return { placeholder: choices.join("|"), default: byDefault, parse: parseChoice(...choices) };
}

export function onOrOff(byDefault: "on" | "off") {
  return aChoice(byDefault, "on", "off");
}

export function aDuration(byDefault: string) {
  return { placeholder: "DURATION", default: byDefault, parse: parseDuration };
}

export function aNumber<D extends string | undefined>(byDefault: D, least: number, most: number) {
  return { placeholder: "NUMBER", default: byDefault, parse: parseCount(least, most) };
}

/** A number of bytes. */
export function aSize(byDefault: string, least: number, most: number) {
  return { placeholder: "BYTES", default: byDefault, parse: parseCount(least, most, "a number of bytes") };
}
