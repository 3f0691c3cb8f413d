/** Calls of the standard methods of a resource. */
import type { DescField, DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import type { StandardMethod } from "../../annotations.ts";
import { CommandFailure } from "../../command/index.ts";
import { kebab, type ListedKind, type ResourceEntry } from "../catalog/resources.ts";
import { callMethod } from "../session/call.ts";
import type { Session } from "../session/session.ts";

/** A message whose fields are read by their names. */
export type Resource = Message & Readonly<Record<string, unknown>> & { readonly uid: string; readonly etag: string };

/** The method of a resource. Errors: CommandFailure if the contract has none. */
export function methodOf({ plural, methods }: ListedKind, verb: StandardMethod["verb"]): DescMethod {
  const method = methods[verb];
  if (method !== undefined) return method;
  const verbs = Object.keys(methods).map((it) => kebab(it));
  throw new CommandFailure(`${plural} have no ${kebab(verb)}, only ${verbs.join(", ")}`, 2);
}

/** The field of a method's request that holds the resource. */
export function resourceField(method: DescMethod, schema: DescMessage): DescField {
  return method.input.fields.find(({ message }) => message?.typeName === schema.typeName)!;
}

/** Gets a resource by its uid. */
export async function getResource(session: Session, resource: ResourceEntry, uid: string): Promise<Resource> {
  return call(session, methodOf(resource, "Get"), { uid });
}

/** Creates a resource. @param parent "" for none. */
export async function createResource(
  session: Session,
  resource: ResourceEntry,
  parent: string,
  message: Message,
  validateOnly: boolean,
): Promise<Resource> {
  const method = methodOf(resource, "Create");
  return call(session, method, {
    parent,
    [resourceField(method, resource.schema).localName]: message,
    validateOnly,
  });
}

/** Fields of a request beside the resource. */
export interface UpdateOptions {
  readonly validateOnly: boolean;
  /** Only where the request has the field. */
  readonly force?: boolean;
}

/** Updates the fields of `paths`. @param message with uid, and with the etag that must still hold. */
export async function updateResource(
  session: Session,
  resource: ResourceEntry,
  message: Message,
  paths: readonly string[],
  options: UpdateOptions,
): Promise<Resource> {
  const method = methodOf(resource, "Update");
  const field = resourceField(method, resource.schema);
  return call(session, method, { [field.localName]: message, updateMask: { paths }, ...options });
}

/** Deletes a resource. */
export async function deleteResource(
  session: Session,
  resource: ResourceEntry,
  request: { readonly uid: string; readonly force?: boolean; readonly etag?: string; readonly validateOnly: boolean },
): Promise<void> {
  await call(session, methodOf(resource, "Delete"), request);
}

/** Lists resources, all pages of them. @param request without the fields of pages. */
export async function listResources(
  session: Session,
  resource: ResourceEntry,
  request: Readonly<Record<string, unknown>>,
): Promise<Resource[]> {
  const found: Resource[] = [];
  let pageToken = "";
  do {
    const page = await listPage(session, resource, { ...request, pageSize: 200, pageToken });
    found.push(...page.items);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return found;
}

/** Lists a page of resources. */
export async function listPage(
  session: Session,
  resource: ResourceEntry,
  request: Readonly<Record<string, unknown>>,
): Promise<{ readonly items: readonly Resource[]; readonly nextPageToken: string }> {
  const method = methodOf(resource, "List");
  const items = method.output.fields.find(({ message }) => message?.typeName === resource.schema.typeName)!;
  const page = await call(session, method, request);
  return {
    items: page[items.localName] as Resource[],
    nextPageToken: (page.nextPageToken as string | undefined) ?? "",
  };
}

async function call(session: Session, method: DescMethod, request: Readonly<Record<string, unknown>>) {
  return (await callMethod(session, method, request)) as Resource;
}
