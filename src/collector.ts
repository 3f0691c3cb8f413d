/** How V8 collects garbage in this program; its flags may be set while it runs. */
import { setFlagsFromString } from "node:v8";

/**
 * Loading the program makes tens of megabytes of garbage, once. Left alone, V8 answers by growing the space for young objects to its maximum
 * and keeps it, so an idle server would hold 60 MB of nothing: it does not grow until there is work.
 */
export function holdYoungSpace(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** From here on, garbage comes from work: V8's own growth. */
export function growYoungSpace(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
}

/**
 * Old garbage is collected when the heap has grown by half, where V8 would wait until it is several times as large: the pauses that no thread can
 * take off the event loop are half as long, and full load takes a third less memory.
 */
export function shortenPauses(): void {
  setFlagsFromString("--heap-growing-percent=50");
}
