/** How V8 collects garbage in this program; its flags may be set while it runs. */
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

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

/** For work that is to be done soon: the space for young objects doubles with its garbage, up to V8's maximum. */
export function growYoungSpace(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
}

/** Of the space for young objects, both halves. What more would be is memory that no cache of a core holds, and more for one collection to do. */
const youngBytes = 16 * 1024 * 1024;
/** How often a space for young objects that has its size is looked at: V8 makes it smaller when there was little to do. */
const lookMs = 1000;

/**
 * For calls that are not to wait. The space for young objects doubles up to a limit of ours: V8 takes one only when it starts. And old garbage is collected
 * when the heap has grown by a fifth; V8 would let it grow several times as large, and stop for longer. Young garbage, of which little survives, is
 * collected without other threads: when these got no processor, the program waited for them twenty times as long as it takes alone.
 */
export function shortenPauses(): void {
  setFlagsFromString("--heap-growing-percent=20");
  setFlagsFromString("--no-parallel-scavenge");
  collectNow();
  const observer = new PerformanceObserver(decide);
  function decide() {
    const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
    const mayDouble = space !== undefined && 2 * space.space_size <= youngBytes;
    setFlagsFromString(`--semi-space-growth-factor=${mayDouble ? 2 : 1}`);
    if (mayDouble) observer.observe({ entryTypes: ["gc"] });
    else {
      observer.disconnect(); // each collection that is told of costs as much as a few calls
      setTimeout(decide, lookMs).unref();
    }
  }
  decide();
}

/** When to collect next is decided after a collection: without one, the first under load would come when the heap has grown several times. */
function collectNow(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
