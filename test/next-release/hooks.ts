/**
 * Makes the sources those of the next release. Loaded by `node --import` before the program: it changes the modules
 * while they are loaded.
 */
import { registerHooks } from "node:module";
import { changedSource } from "./changes.ts";

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const source = changedSource(url, () => String(loaded.source));
    return source === undefined ? loaded : { ...loaded, source };
  },
});
