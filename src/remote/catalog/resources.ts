/**
 * The resources of the contract and the methods of its services, by the names that people type. All of it comes from
 * the descriptors: a new resource needs nothing here.
 */
import { type DescField, type DescMessage, type DescMethod, type DescService, hasOption } from "@bufbuild/protobuf";
import { resource_reference, resource as resourceOption } from "../../../gen/google/api/resource_pb.ts";
import { getOption, type StandardMethod, standardMethodOf } from "../../annotations.ts";

/** What can be listed: a resource, or messages that are none, such as findings. Of the newest version of its domain. */
export interface ListedKind {
  /** `role-binding`. */
  readonly singular: string;
  /** `role-bindings`. */
  readonly plural: string;
  readonly schema: DescMessage;
  readonly methods: Readonly<Partial<Record<StandardMethod["verb"], DescMethod>>>;
}

/** A resource of the newest version of its domain. */
export interface ResourceEntry extends ListedKind {
  /** `RoleBinding`. */
  readonly kind: string;
  /** `iam.platform.internal/RoleBinding`. */
  readonly type: string;
}

/** A service of the newest version of its domain; those of several domains with one name are together. */
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
  /** What is listed without being a resource. */
  readonly views: readonly ListedKind[];
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
  return {
    resources: [...found.values()].sort(byPlural),
    views: newest.flatMap(({ methods }) => methods.flatMap(viewOf)).sort(byPlural),
    services: [...Map.groupBy(newest.map(serviceEntry), ({ name }) => name).values()].map(oneEntry),
  };
}

function byPlural(a: ListedKind, b: ListedKind): number {
  return a.plural < b.plural ? -1 : 1;
}

/** What a method lists that is not the List of a resource; none for other methods. */
function viewOf(method: DescMethod): ListedKind[] {
  const [, noun] = /^List([A-Z].*)$/.exec(method.name) ?? [];
  const items = itemsField(method.output);
  if (noun === undefined || items === undefined || standardMethodOf(method) !== undefined) return [];
  const plural = kebab(noun);
  const Get = method.parent.methods.find(({ name }) => name === `Get${noun.replace(/s$/, "")}`);
  const methods = { ...(Get && { Get }), List: method };
  return [{ singular: plural.replace(/(?<!s)s$/, ""), plural, schema: items.message, methods }];
}

/** The items in the response of a list: its only messages. */
export function itemsField({ fields }: DescMessage): (DescField & { readonly message: DescMessage }) | undefined {
  const [first, ...others] = fields.filter((field) => field.fieldKind === "list" && field.listKind === "message");
  return others.length === 0 ? (first as (DescField & { readonly message: DescMessage }) | undefined) : undefined;
}

/**
 * Whether resources are found by their names: those of what people create. A resource that is imported has an id that
 * is given to it elsewhere.
 */
export function hasNames({ methods: { Create, List } }: ListedKind): boolean {
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
export function parentType({ methods: { Create } }: ListedKind): string | undefined {
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

/** Services of one name as one: the methods of all. */
function oneEntry([first, ...others]: readonly ServiceEntry[]): ServiceEntry {
  const customMethods = [first!, ...others].flatMap((entry) => [...entry.customMethods]);
  return { ...first!, customMethods: new Map(customMethods) };
}

/** `accept` for AcceptGroupInvite of `group-invites`; the whole name where nothing else would be left. */
function customName(method: DescMethod, serviceName: string): string {
  const singular = serviceName.replace(/ies$/, "y").replace(/s$/, "");
  const rest = kebab(method.name)
    .replace(new RegExp(`(^|-)(?:${serviceName}|${singular})(?=-|$)`), "")
    .replace(/^-/, "");
  return rest === "" ? kebab(method.name) : rest;
}
