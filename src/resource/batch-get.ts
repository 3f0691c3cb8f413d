/** BatchGet (AIP-231): several resources by uid, in the order of the request; all of them, or none. */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { requireCapabilities } from "../auth/index.ts";
import { readContract } from "../contract/index.ts";
import { invalid } from "../errors.ts";
import { databaseOf } from "./call-environment.ts";
import type { Resource } from "./declaration.ts";
import { requireRow, requireUid } from "./get.ts";
import { rowBytes } from "./page-bytes.ts";
import { isStoredForm, listOf, toResponses } from "./response.ts";
import { storedList } from "./row-mapping.ts";

/** The maximum size of the rows of one answer. */
const maxBatchBytes = 16 * 1024 * 1024;

/**
 * The method of a resource. Errors: PERMISSION_DENIED unless the caller may get each of them, whether or not it exists;
 * NOT_FOUND for the first that does not exist; INVALID_ARGUMENT when they are too large together.
 */
export function standardBatchGet(resource: Resource, method: DescMethod) {
  const { authorization } = readContract([method.parent]).of(method);
  const capabilities = authorization.kind === "open" ? [] : authorization.capabilities;
  const { publicUids = [] } = resource.declaration;
  return async ({ uids }: Message & { uids: readonly string[] }, context: HandlerContext): Promise<Message> => {
    for (const [i, uid] of uids.entries()) requireUid(`uids[${i}]`, uid, resource);
    for (const uid of uids) if (!publicUids.includes(uid)) requireCapabilities(context, uid, ...capabilities);
    const found = await databaseOf(context).getMany(resource.table, [...new Set(uids)]);
    const rows = uids.map((uid) => requireRow(resource, uid, found.get(uid)));
    if (rows.reduce((sum, row) => sum + rowBytes(row), 0) > maxBatchBytes)
      throw invalid({ field: "uids", description: "name more than 16 MiB; get fewer at once" });
    if (isStoredForm(resource)) return storedList(resource, method.output, rows);
    return listOf(method.output, await toResponses(resource, rows, context));
  };
}
