/** Runs tasks in the order of what they depend on, several at a time. */

/** How many tasks run at the same time. */
const defaultConcurrency = 8;

/**
 * Runs `task` for each node, once it has run for all that the node depends on. If it returns false, `skip` is called
 * for each that depends on the node.
 * @param dependencies of a node: nodes of `nodes`, without cycles ({@link cycleIn}).
 * @param isStopped asked before each node. The nodes that are left are not run when it is true.
 */
export async function runInOrder<T>(
  nodes: readonly T[],
  dependencies: (node: T) => readonly T[],
  task: (node: T) => Promise<boolean>,
  skip: (node: T, failed: T) => void,
  isStopped: () => boolean = () => false,
  concurrency = defaultConcurrency,
): Promise<void> {
  const open = new Map(nodes.map((node) => [node, new Set(dependencies(node))]));
  const dependents = new Map<T, T[]>(nodes.map((node) => [node, []]));
  for (const node of nodes) for (const other of open.get(node)!) dependents.get(other)!.push(node);
  const ready = nodes.filter((node) => open.get(node)!.size === 0);
  const skipped = new Set<T>();
  const skipAll = (failed: T) => {
    for (const node of dependents.get(failed)!) {
      if (skipped.has(node)) continue;
      skipped.add(node);
      skip(node, failed);
      skipAll(node);
    }
  };
  const finish = (node: T, isDone: boolean) => {
    if (!isDone) return skipAll(node);
    for (const other of dependents.get(node)!) {
      const left = open.get(other)!;
      left.delete(node);
      if (left.size === 0 && !skipped.has(other)) ready.push(other);
    }
  };
  await new Promise<void>((resolve, reject) => {
    let running = 0;
    const startTasks = () => {
      while (running < concurrency && ready.length > 0 && !isStopped()) {
        const node = ready.shift()!;
        running++;
        task(node).then((isDone) => {
          running--;
          finish(node, isDone);
          startTasks();
        }, reject);
      }
      if (running === 0) resolve();
    };
    startTasks();
  });
}

/** The nodes of a cycle; undefined if there is none. */
export function cycleIn<T>(nodes: readonly T[], dependencies: (node: T) => readonly T[]): T[] | undefined {
  const finished = new Set<T>();
  const path: T[] = [];
  const visit = (node: T): T[] | undefined => {
    if (finished.has(node)) return undefined;
    if (path.includes(node)) return path.slice(path.indexOf(node));
    path.push(node);
    for (const other of dependencies(node)) {
      const cycle = visit(other);
      if (cycle !== undefined) return cycle;
    }
    path.pop();
    finished.add(node);
    return undefined;
  };
  for (const node of nodes) {
    const cycle = visit(node);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
