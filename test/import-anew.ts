/** Modules for one test alone. The files of a project share all others. */
import { registerHooks } from "node:module";

const mark = /\?copy=\d+$/;
let copies = 0;

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    const copy = mark.exec(context.parentURL ?? "")?.[0];
    const isShared = copy === undefined || !resolved.url.startsWith("file:") || resolved.url.includes("/node_modules/");
    return isShared ? resolved : { ...resolved, url: `${resolved.url}${copy}` };
  },
});

/**
 * Loads a module, and what it imports of this repository, once more: with a state of its own, and with what is stubbed
 * now. `url`: as `import.meta.resolve` returns it.
 */
export function importAnew<Module>(url: string): Promise<Module> {
  return import(`${url.replace(/\?.*/, "")}?copy=${copies++}`);
}
