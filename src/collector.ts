/** How V8 collects garbage in this program; its flags may be set while it runs. */
import { setFlagsFromString } from "node:v8";

/**
 * To be called before the program is loaded. That makes tens of megabytes of garbage, once; left alone, V8 answers by growing the space for young
 * objects to its maximum and keeps it, so an idle server would hold 60 MB of nothing: it does not grow until there is work. Nor does V8
 * allocate old at once where much has survived: the first calls wait long, and the objects of all later ones would become garbage that only the
 * dear collections find.
 */
export function prepareCollector(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--no-allocation-site-pretenuring");
}

/** From here on, garbage comes from work: V8's own growth. */
export function growYoungSpace(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
}

/** Old garbage is collected when the heap has grown by half; V8 would let it grow several times as large, and stop for longer. */
export function shortenPauses(): void {
  setFlagsFromString("--heap-growing-percent=50");
}
