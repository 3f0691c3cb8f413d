/**
 * Loaded into a server before its program. SIGUSR2 begins the count of what it allocates on V8's heap, and the next one
 * writes the number of bytes to the file that `ALLOCATIONS_FILE` names. It costs nothing while it does not count.
 */
import { renameSync, writeFileSync } from "node:fs";
import { GCProfiler, getHeapStatistics } from "node:v8";

const file = process.env.ALLOCATIONS_FILE!;
let counting: { readonly profiler: GCProfiler; readonly usedBytes: number } | undefined;

process.on("SIGUSR2", () => {
  const { used_heap_size: usedBytes } = getHeapStatistics();
  if (counting === undefined) {
    const profiler = new GCProfiler();
    profiler.start();
    counting = { profiler, usedBytes };
    return;
  }
  const { statistics } = counting.profiler.stop()!;
  let [allocated, last] = [0, counting.usedBytes];
  for (const { beforeGC, afterGC } of statistics) {
    allocated += beforeGC.heapStatistics.usedHeapSize - last;
    last = afterGC.heapStatistics.usedHeapSize;
  }
  counting = undefined;
  writeFileSync(`${file}.part`, String(allocated + usedBytes - last));
  renameSync(`${file}.part`, file);
});
