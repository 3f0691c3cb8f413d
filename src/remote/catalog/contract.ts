/** The catalogue of the contract in this package. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { contractServices } from "./descriptors.ts";
import {
  type Catalog,
  type ListedKind,
  parentType,
  type ResourceEntry,
  readCatalog,
  type ServiceEntry,
} from "./resources.ts";

let catalog: Catalog | undefined;

/** The catalogue of the contract. */
export function contractCatalog(): Catalog {
  catalog ??= readCatalog(contractServices());
  return catalog;
}

/** The resource with this name: `roleBinding`, `role-bindings`, `RoleBinding`. */
export function findResource(name: string): ResourceEntry | undefined {
  return contractCatalog().resources.find((kind) => isNamed(kind, name));
}

/** What can be listed by this name: a resource, or what is none: `findings`. */
export function findListed(name: string): ListedKind | undefined {
  return findResource(name) ?? contractCatalog().views.find((kind) => isNamed(kind, name));
}

function isNamed({ singular, plural }: ListedKind, name: string): boolean {
  return [singular, plural].map(plain).includes(plain(name));
}

/** Whether messages of a type are images, which have no uid. */
export function isImage(schema: DescMessage | undefined): boolean {
  return schema?.typeName === "platform.findings.v1.Image";
}

/** Whether the values of a field name images: `REPO:TAG`, `REPO@DIGEST`. */
export function namesImage({ name, parent }: DescField): boolean {
  return parent.file.proto.package === "platform.findings.v1" && ["image", "base", "target"].includes(name);
}

/** The resource of a type such as `iam.platform.internal/Role`. */
export function findType(type: string | undefined): ResourceEntry | undefined {
  return contractCatalog().resources.find((resource) => resource.type === type);
}

/** The kind of resource that a kind is created in; undefined if it has no parents, or they may be of any kind. */
export function parentKind(resource: ResourceEntry): ResourceEntry | undefined {
  return findType(parentType(resource));
}

/** The service with this name: `group-invites`, `GroupInvitesService`, `platform.iam.v2.GroupInvitesService`. */
export function findService(name: string): ServiceEntry | undefined {
  const wanted = plain(name);
  return contractCatalog().services.find((entry) =>
    [entry.name, entry.service.name, entry.service.typeName].map(plain).includes(wanted),
  );
}

function plain(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}
