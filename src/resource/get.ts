/** Get (AIP-131), BatchGet (AIP-231), and what other methods do first with the resource that a request names. */
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { requireCapabilities } from "../auth/index.ts";
import { type Awaitable, chain } from "../awaitable.ts";
import { readContract } from "../contract/index.ts";
import { aborted, invalid, notFound } from "../errors.ts";
import type { Row } from "../store/index.ts";
import { isUid } from "../uid.ts";
import { databaseOf, transactionOf } from "./call-environment.ts";
import type { Resource } from "./declaration.ts";
import { rowBytes } from "./page-bytes.ts";
import { isStoredForm, listOf, masking, toResponse, toResponses } from "./response.ts";
import { etagOf, rowEtag, storedList, storedMessage } from "./row-mapping.ts";

/** The method of a resource. */
export function standardGet(resource: Resource) {
  return (request: Message & { uid: string }, context: HandlerContext) => {
    const mask = masking(resource, request);
    return chain(findRow(resource, request.uid, context), (row) => {
      checkEtag(row, undefined, context);
      if (mask !== undefined) return chain(toResponse(resource, row, context), mask);
      if (!isStoredForm(resource)) return toResponse(resource, row, context);
      context.responseHeader.set("etag", etagOf(row));
      return storedMessage(resource, row);
    });
  };
}

/** The maximum size of the rows of one answer. */
const maxBatchBytes = 16 * 1024 * 1024;

/**
 * BatchGet: several resources by uid, in the order of the request. Errors: PERMISSION_DENIED unless the caller may get
 * each of them, whether or not it exists; NOT_FOUND for the first that does not exist; INVALID_ARGUMENT when they are
 * too large together.
 */
export function standardBatchGet(resource: Resource, method: DescMethod) {
  const { authorization } = readContract([method.parent]).of(method);
  const capabilities = authorization.kind === "open" ? [] : authorization.capabilities;
  const { publicUids = [] } = resource.declaration;
  return async (request: Message & { uids: readonly string[] }, context: HandlerContext): Promise<Message> => {
    const { uids } = request;
    const mask = masking(resource, request);
    for (const [i, uid] of uids.entries()) requireUid(`uids[${i}]`, uid, resource);
    for (const uid of uids) if (!publicUids.includes(uid)) requireCapabilities(context, uid, ...capabilities);
    const found = await databaseOf(context).getMany(resource.table, [...new Set(uids)]);
    const rows = uids.map((uid) => requireRow(resource, uid, found.get(uid)));
    if (rows.reduce((sum, row) => sum + rowBytes(row), 0) > maxBatchBytes)
      throw invalid({ field: "uids", description: "name more than 16 MiB; get fewer at once" });
    if (isStoredForm(resource) && mask === undefined) return storedList(resource, method.output, rows);
    const items = await toResponses(resource, rows, context);
    return listOf(method.output, mask === undefined ? items : items.map(mask));
  };
}

/** A row that must exist. Errors: NOT_FOUND. */
export function findRow(resource: Resource, uid: string, context: HandlerContext): Awaitable<Row> {
  return chain(databaseOf(context).get(resource.table, uid), (row) => requireRow(resource, uid, row));
}

/** A row that must exist, which the call will change. Errors: NOT_FOUND. */
export function findRowToChange(resource: Resource, uid: string, context: HandlerContext): Awaitable<Row> {
  return chain(transactionOf(context).getToChange(resource.table, uid), (row) => requireRow(resource, uid, row));
}

/** A row that must exist, which the call may remove. Errors: NOT_FOUND. */
export function findRowToRemove(resource: Resource, uid: string, context: HandlerContext): Awaitable<Row> {
  return chain(transactionOf(context).getToRemove(resource.table, uid), (row) => requireRow(resource, uid, row));
}

/** A row that was looked for by its uid. Errors: NOT_FOUND. */
export function requireRow({ contract }: Resource, uid: string, row: Row | undefined): Row {
  if (row === undefined) throw notFound({ type: contract.type, uid });
  return row;
}

/** Makes sure that a resource exists until the call ends. Errors: NOT_FOUND. */
export function holdResource(resource: Resource, uid: string, context: HandlerContext): Awaitable<void> {
  return chain(transactionOf(context).hold(resource.table, uid), (exists) => {
    if (!exists) throw notFound({ type: resource.contract.type, uid });
  });
}

/** Makes sure that a resource exists. Errors: NOT_FOUND. */
export function requireResource(resource: Resource, uid: string, context: HandlerContext): Awaitable<void> {
  return chain(databaseOf(context).has(resource.table, uid), (exists) => {
    if (!exists) throw notFound({ type: resource.contract.type, uid });
  });
}

/** Checks a uid in a method that names no scope. Errors: INVALID_ARGUMENT for an empty one, NOT_FOUND for no uid. */
export function requireUid(field: string, uid: string, resource: Resource): void {
  if (uid === "") throw invalid({ field, description: "is required" });
  if (!isUid(uid)) throw notFound({ type: resource.contract.type, uid });
}

/**
 * Checks the etag of a request (AIP-154): `If-Match` over REST, else the `etag` field. Without one there is no check.
 * Errors: ABORTED when the row has another one.
 */
export function checkEtag(row: Row, etag: string | undefined, context: HandlerContext): void {
  const given = etag || context.requestHeader.get("if-match");
  if (!given || given === "*") return;
  const tags = given.split(",").map((tag) => rowEtag(tag.trim()));
  if (!tags.includes(etagOf(row))) throw aborted("the resource has changed since its etag was read");
}
