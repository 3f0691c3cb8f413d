/**
 * What was forgotten when a resource or a service was added, found when the server starts instead of by the first call.
 */
import type { Role } from "../../gen/platform/iam/v2/roles_pb.ts";
import { capabilityList } from "../auth/index.ts";
import { type Contract, IncompleteError } from "../contract/index.ts";
import type { MountedService } from "../resource/index.ts";
import { columnsOf, type TableIndex } from "../store/index.ts";

/** What is checked, against what. */
export interface StartupFacts {
  readonly services: readonly MountedService[];
  readonly contract: Contract;
  /** Every service of the contract, by full name. */
  readonly generated: readonly string[];
  /** Services that are not mounted on purpose, by full name. */
  readonly notServed: ReadonlyMap<string, string>;
  /** The roles that can be granted without making one: all built-in roles but the first administrator's. */
  readonly roles: readonly Pick<Role, "capabilities">[];
  /** Methods that are left to the first administrator on purpose, by full name. */
  readonly administratorOnly: ReadonlyMap<string, string>;
  /** The columns of every table of the database, by its name. */
  readonly columns: ReadonlyMap<string, ReadonlySet<string>>;
  readonly indexes: readonly TableIndex[];
}

const addMigration = "add a migration to src/store/migrations, and run `npm run generate`";

/** Checks that nothing was forgotten. Errors: IncompleteError with whatever was. */
export function checkStartup(facts: StartupFacts): void {
  const faults = [
    ...unservedServices(facts),
    ...missingColumns(facts),
    ...missingIndexes(facts),
    ...uncallableMethods(facts),
  ];
  if (faults.length > 0) throw new IncompleteError("the server", faults);
}

function unservedServices({ services, generated, notServed }: StartupFacts): string[] {
  const mounted = new Set(services.map(({ service }) => service.typeName));
  return generated
    .filter((name) => !mounted.has(name) && !notServed.has(name))
    .map((name) => `${name} is neither mounted nor listed as not served in src/services/index.ts`);
}

function missingColumns({ services, columns }: StartupFacts): string[] {
  return services
    .flatMap(({ resources }) => resources)
    .flatMap(({ contract: { kind }, table }) => {
      const existing = columns.get(table.name);
      if (existing === undefined) return [`the database has no table ${table.name} for ${kind}: ${addMigration}`];
      const missing = columnsOf(table).filter((column) => !existing.has(column));
      return missing.map((column) => `the table ${table.name} has no column ${column} for ${kind}: ${addMigration}`);
    });
}

function missingIndexes({ services, columns, indexes }: StartupFacts): string[] {
  return services
    .flatMap(({ resources }) => resources.filter(({ table }) => columns.has(table.name)))
    .flatMap(({ contract: { kind }, table, declaration: { unique, list }, sortNames, defaultOrder }) => {
      const own = indexes.filter((index) => index.table === table.name);
      const isOrdered = (column: string) =>
        column === "uid" ||
        own.some(({ columns: [first, second] }) => first === column || (first === "parent" && second === column));
      const ordered =
        list === undefined ? [] : [...Object.values(sortNames), ...defaultOrder.map(({ column }) => column)];
      const missing = [...new Set(ordered)].filter((column) => !isOrdered(column)).map((column) => `${column}, uid`);
      const faults = missing.map((columns) => `index of ${columns}, by which ${kind} is sorted`);
      if (unique !== undefined) {
        const columns = ["parent", ...unique];
        const isChecked = own.some((index) => index.isUnique && sameMembers(index.columns, columns));
        if (!isChecked) faults.push(`unique index of ${columns.join(", ")}, which ${kind} declares as unique`);
      }
      return faults.map((fault) => `the table ${table.name} has no ${fault}: ${addMigration}`);
    });
}

function sameMembers(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each) => others.includes(each));
}

function uncallableMethods({ contract, roles, administratorOnly }: StartupFacts): string[] {
  const granted = new Set(roles.flatMap(({ capabilities }) => capabilities));
  return contract.methods.flatMap(({ method, authorization }) => {
    const name = `${method.parent.typeName}.${method.name}`;
    if (authorization.kind === "open" || administratorOnly.has(name)) return [];
    const lacking = authorization.capabilities.filter((capability) => !granted.has(capability));
    return lacking.length === 0
      ? []
      : [
          `${name} needs ${capabilityList(lacking)}, which no role of src/services/iam/built-in-roles.ts has but the administrator's`,
        ];
  });
}
