/** The names of the resources that others refer to. */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import { PlatformError } from "../../client/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { findType } from "../catalog/contract.ts";
import { hasNames } from "../catalog/resources.ts";
import { listResources } from "../documents/requests.ts";
import type { Session } from "../session/session.ts";

/**
 * Adds the names of the resources that the items of a page refer to, by their uids: one call for each field that refers
 * to a kind with names. Those that the caller may not list get none, nor those that the items have in brief.
 */
export async function addNames(
  session: Session,
  schema: DescMessage,
  items: readonly Message[],
  names: Map<string, string>,
): Promise<void> {
  const references = schema.fields.flatMap((field) => {
    const { type } = getOption(field, resource_reference);
    const resource = findType(type);
    const isBrief = schema.fields.some(
      ({ name, message }) => (message?.field.name && `${name}_uid` === field.name) || name === `${field.name}_name`,
    );
    const takesIds = resource?.methods.List?.input.field.uidp?.message?.field.ids !== undefined;
    if (resource === undefined || !hasNames(resource) || !takesIds || isBrief) return [];
    const uids = items.flatMap((item) => (item as Message & Record<string, unknown>)[field.localName] as string);
    const ids = [...new Set(uids)].filter((uid) => uid !== "" && !names.has(uid));
    return ids.length === 0 ? [] : [{ resource, ids }];
  });
  await Promise.all(
    references.map(async ({ resource, ids }) => {
      try {
        for (const { uid, name } of await listResources(session, resource, { uidp: { ids } }))
          if (typeof name === "string" && name !== "") names.set(uid, name);
      } catch (error) {
        if (!(error instanceof PlatformError || error instanceof CommandFailure)) throw error;
      }
    }),
  );
}
