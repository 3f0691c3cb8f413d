/**
 * How V8 collects garbage in this program. The flags may be set while it runs. This file is loaded before the program.
 */
import { readFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Whether the setting `gcTuning` is on. This is asked before the program that reads settings is loaded. A value that
 * the settings refuse counts as on. `args`: without the program's own name.
 */
export function isTuningOn(args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  const file = flagIn(args, "--config") ?? env.PLATFORM_CONFIG;
  return (flagIn(args, "--gc-tuning") ?? env.PLATFORM_GC_TUNING ?? (file && tuningIn(file))) !== "off";
}

/** The last value of a flag. */
function flagIn(args: readonly string[], flag: string): string | undefined {
  return args
    .map((arg, i) => (arg === flag ? args[i + 1] : arg.startsWith(`${flag}=`) ? arg.slice(flag.length + 1) : undefined))
    .findLast((value) => value !== undefined);
}

function tuningIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"))?.gcTuning;
  } catch {
    return undefined; // the command says what is wrong with the file
  }
}

/**
 * To be called before the program is loaded. Loading makes tens of megabytes of garbage, once. V8 would answer by
 * growing the space for young objects to its maximum and keep it, so that an idle server would hold 60 MB of nothing:
 * the space does not grow until there is work. Nor does V8 allocate objects as old where many have survived: the first
 * calls wait long, and the objects of all later ones would become garbage that only full collections find.
 */
export function prepareCollector(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--no-allocation-site-pretenuring");
}

/** For work that begins soon: the space for young objects doubles with its garbage, up to V8's maximum. */
export function growYoungSpace(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
}

/**
 * Both halves of the space for young objects. A larger space does not fit the caches of a core, and each collection
 * takes longer.
 */
const youngBytes = 16 * 1024 * 1024;
/**
 * How often the space for young objects is checked once it has this size: V8 makes it smaller when there is little to
 * do.
 */
const checkMs = 1000;

/** A heap of more old objects than this is large: it remembers what it has read. */
const largeBytes = 80 * 1024 * 1024;

/**
 * For a server that has started. The space for young objects doubles up to `youngBytes`; V8 takes such a limit only
 * when it starts. A full collection runs when the heap has grown to two and a half times its size; V8 would let it grow
 * further and then pause for longer. At 1.2 and 1.6 times, large list responses alone made ten full collections a
 * second, of 9 ms each. One that is large grows to one and a half times: what 100,000 components with 225,000 findings
 * leave in memory, beyond an idle server, was 575 MB and is 370 MB. Young garbage, of which little survives, is
 * collected without other threads: when these got no processor, the program waited for them twenty times as long as a
 * collection without them takes.
 */
export function shortenPauses(): void {
  setFlagsFromString("--heap-growing-percent=150");
  setFlagsFromString("--no-parallel-scavenge");
  collectNow();
  const observer = new PerformanceObserver(decide);
  function decide() {
    const spaces = new Map(getHeapSpaceStatistics().map((space) => [space.space_name, space]));
    const isLarge = (spaces.get("old_space")?.space_used_size ?? 0) > largeBytes;
    setFlagsFromString(`--heap-growing-percent=${isLarge ? 50 : 150}`);
    const space = spaces.get("new_space");
    const mayDouble = space !== undefined && 2 * space.space_size <= youngBytes;
    setFlagsFromString(`--semi-space-growth-factor=${mayDouble ? 2 : 1}`);
    if (mayDouble) observer.observe({ entryTypes: ["gc"] });
    else {
      observer.disconnect(); // observing a collection costs as much as a few calls
      setTimeout(decide, checkMs).unref();
    }
  }
  decide();
}

/**
 * V8 decides after a collection when to run the next. Without this one, the first under load would come when the heap
 * has grown several times.
 */
function collectNow(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
