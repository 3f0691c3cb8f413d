/** How V8 collects garbage in this program; its flags may be set while it runs. */
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Of the space for young objects, both halves. What more would be is memory that no cache of a core holds, and more for one collection to do. */
const youngBytes = 16 * 1024 * 1024;

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

/** From here on, garbage comes from work: the space for young objects doubles up to its limit, which V8 itself takes only when it starts. */
export function growYoungSpace(): void {
  let factor = 0;
  const decide = () => {
    const known = factor;
    const size =
      getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? youngBytes;
    factor = 2 * size <= youngBytes ? 2 : 1;
    if (factor !== known) setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  };
  decide();
  new PerformanceObserver(decide).observe({ entryTypes: ["gc"] });
}

/**
 * Old garbage is collected when the heap has grown by a fifth; V8 would let it grow several times as large, and stop for longer: each value of a header
 * field over HTTP/2 is an external string, old from the start, and takes its time when it goes.
 */
export function shortenPauses(): void {
  setFlagsFromString("--heap-growing-percent=20");
}
