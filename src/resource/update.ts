/** Update (AIP-134). */
import { type DescMessage, type DescMethod, equals, type Message, type MessageShape } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import { keepDistinct } from "../contract/index.ts";
import type { Row } from "../store/index.ts";
import { environmentOf } from "./call-environment.ts";
import { updateRow } from "./changes.ts";
import { bodyReader } from "./create.ts";
import type { Resource } from "./declaration.ts";
import { applyPaths, effectivePaths, enforceFieldBehavior } from "./field-mask.ts";
import { checkEtag, findRowToChange } from "./get.ts";
import { toResponse } from "./response.ts";
import { type Content, contentOf, emptyMessage, messageOf } from "./row-mapping.ts";
import { checkChange, requireUnique } from "./rules.ts";

/** The method of a resource. */
export function standardUpdate(resource: Resource, method: DescMethod) {
  const bodyOf = bodyReader(resource, method);
  return async (request: Message & { updateMask?: FieldMask }, context: HandlerContext) => {
    const body = bodyOf(request) ?? emptyMessage(resource);
    const { uid } = body as Message & { uid: string };
    return toResponse(resource, await updateResource(resource, uid, body, request.updateMask, context), context);
  };
}

/**
 * Changes what `mask` names, or what `body` populates without one, and returns the row. An update that changes nothing
 * writes nothing.
 * Errors: NOT_FOUND, INVALID_ARGUMENT, ALREADY_EXISTS, ABORTED for a stale etag.
 */
export async function updateResource<R extends DescMessage>(
  resource: Resource<R>,
  uid: string,
  body: MessageShape<R>,
  mask: FieldMask | undefined,
  context: HandlerContext,
): Promise<Row> {
  const { schema } = resource.declaration;
  const row = await findRowToChange(resource, uid, context);
  checkEtag(row, (body as { etag?: string }).etag, context);
  const before = messageOf(resource, row);
  keepDistinct(schema, before);
  const paths = effectivePaths(schema, mask, body);
  const after = applyPaths(schema, before, body, paths);
  enforceFieldBehavior(schema, before, after);
  await checkChange(resource, { uid, parent: row.parent, before, after, paths }, context);
  keepDistinct(schema, after);
  if (equals(schema, before, after)) return row;
  const content = contentOf(resource, after);
  await requireUnique(resource, row.parent, uid, content.columns, context);
  return updateContent(resource, row, content, context);
}

/** Changes a resource as the server itself decides, and returns its row. No rule is checked. */
export function rewriteResource<R extends DescMessage>(
  resource: Resource<R>,
  row: Row,
  message: MessageShape<R>,
  context: HandlerContext,
): Promise<Row> {
  return updateContent(resource, row, contentOf(resource, message), context);
}

function updateContent(resource: Resource, row: Row, content: Content, context: HandlerContext): Promise<Row> {
  return updateRow(resource, { ...row, ...content, updateTimeUs: environmentOf(context).nowMs * 1000 }, context);
}
