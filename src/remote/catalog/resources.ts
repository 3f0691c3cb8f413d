/**
 * The resources of the contract and the methods of its services, by the names that people type. All of it comes from
 * the descriptors: a new resource needs nothing here.
 */
import { type DescMessage, type DescMethod, type DescService, hasOption } from "@bufbuild/protobuf";
import { resource_reference, resource as resourceOption } from "../../../gen/google/api/resource_pb.ts";
import { getOption, type StandardMethod, standardMethodOf } from "../../annotations.ts";

/** A resource of the newest version of its domain. */
export interface ResourceEntry {
  /** `RoleBinding`. */
  readonly kind: string;
  /** `role-binding`. */
  readonly singular: string;
  /** `role-bindings`. */
  readonly plural: string;
  /** `iam.platform.internal/RoleBinding`. */
  readonly type: string;
  readonly schema: DescMessage;
  readonly methods: Readonly<Partial<Record<StandardMethod["verb"], DescMethod>>>;
}

/** A service of the newest version of its domain. */
export interface ServiceEntry {
  /** `group-invites`, of `GroupInvitesService`. */
  readonly name: string;
  readonly service: DescService;
  /**
   * The unary methods that are not Get, List, Create, Update or Delete, by name: `accept`, `batch-create`. Those whose
   * requests come in pieces have commands of their own.
   */
  readonly customMethods: ReadonlyMap<string, DescMethod>;
}

/** What {@link readCatalog} finds. */
export interface Catalog {
  readonly resources: readonly ResourceEntry[];
  readonly services: readonly ServiceEntry[];
}

/** Reads the catalogue of services. */
export function readCatalog(services: readonly DescService[]): Catalog {
  const newest = services.filter((service) => !services.some((other) => isNewerVersion(other, service)));
  const found = new Map<string, ResourceEntry & { methods: Partial<Record<StandardMethod["verb"], DescMethod>> }>();
  for (const method of newest.flatMap(({ methods }) => methods)) {
    const schema = resourceOf(method);
    const standard = standardMethodOf(method);
    if (schema === undefined || standard === undefined) continue;
    const { type, singular, plural } = getOption(schema, resourceOption);
    const { kind } = standard;
    const names = { singular: kebab(singular), plural: kebab(plural) };
    const entry = found.get(type) ?? { kind, ...names, type, schema, methods: {} };
    entry.methods[standard.verb] = method;
    found.set(type, entry);
  }
  const resources = [...found.values()].sort((a, b) => (a.plural < b.plural ? -1 : 1));
  return { resources, services: newest.map((service) => serviceEntry(service)) };
}

/**
 * Whether resources are found by their names: those of what people create. A resource that is imported has an id that
 * is given to it elsewhere.
 */
export function hasNames({ methods: { Create, List } }: ResourceEntry): boolean {
  return Create !== undefined && List?.input.field.name !== undefined;
}

/** The type whose uids a resource has: its own or, where there is one for each parent (AIP-156), that of the parent. */
export function uidType({ type, methods: { Get } }: ResourceEntry): string {
  const uid = Get?.input.field.uid;
  return (uid && getOption(uid, resource_reference).type) || type;
}

/** The only custom method of a service if it has the service's name: its command is that of the service. */
export function onlyMethod({ name, customMethods }: ServiceEntry): DescMethod | undefined {
  return customMethods.size === 1 ? customMethods.get(name) : undefined;
}

/** The command of a service: by its full name, `access-service`, where another command has the short one. */
export function commandName({ name, service }: ServiceEntry, others: ReadonlySet<string>): string {
  return others.has(name) ? kebab(service.name) : name;
}

/** The type of the parents that a resource is created in; undefined if it has none, or they may be of any type. */
export function parentType({ methods: { Create } }: ResourceEntry): string | undefined {
  const parent = Create?.input.field.parent;
  return parent && (getOption(parent, resource_reference).type || undefined);
}

/** `role-binding` for `roleBinding`, `RoleBinding` and `role_binding`. */
export function kebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
}

const packageShape = /^(.+)\.v(\d+)$/;

function isNewerVersion(other: DescService, service: DescService): boolean {
  const [, domain, version] = packageShape.exec(service.file.proto.package) ?? [];
  const [, otherDomain, otherVersion] = packageShape.exec(other.file.proto.package) ?? [];
  return domain !== undefined && domain === otherDomain && Number(otherVersion) > Number(version);
}

/** The message of the resource that a standard method is about. */
function resourceOf(method: DescMethod): DescMessage | undefined {
  const standard = standardMethodOf(method);
  if (standard === undefined) return undefined;
  const { input, output } = method;
  const messages = [output, ...[...output.fields, ...input.fields].flatMap(({ message }) => message ?? [])];
  const isKind = (schema: DescMessage) =>
    hasOption(schema, resourceOption) && getOption(schema, resourceOption).type.endsWith(`/${standard.kind}`);
  return messages.find(isKind) ?? method.parent.methods.flatMap((other) => other.output).find(isKind);
}

const standardVerbs: ReadonlySet<string> = new Set(["Get", "List", "Create", "Update", "Delete"]);

function serviceEntry(service: DescService): ServiceEntry {
  const name = kebab(service.name.replace(/Service$/, ""));
  const custom = service.methods.filter(
    (method) => method.methodKind === "unary" && !standardVerbs.has(standardMethodOf(method)?.verb ?? ""),
  );
  return { name, service, customMethods: new Map(custom.map((method) => [customName(method, name), method])) };
}

/** `accept` for AcceptGroupInvite of `group-invites`; the whole name where nothing else would be left. */
function customName(method: DescMethod, serviceName: string): string {
  const singular = serviceName.replace(/ies$/, "y").replace(/s$/, "");
  const rest = kebab(method.name)
    .replace(new RegExp(`(^|-)(?:${serviceName}|${singular})(?=-|$)`), "")
    .replace(/^-/, "");
  return rest === "" ? kebab(method.name) : rest;
}
