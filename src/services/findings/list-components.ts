/** ListComponents: the components of a selection of images, each once. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ListComponentsRequest,
  ListComponentsResponseSchema,
  ListedComponentSchema,
} from "../../../gen/platform/findings/v1/images_pb.ts";
import { scopesOf } from "../../auth/index.ts";
import { unmatchedReason } from "../../matching/index.ts";
import { databaseOf, messagePageLength, openList } from "../../resource/index.ts";
import type { ScalarValue } from "../../store/index.ts";
import { readMatches } from "../matches/component-matches.ts";
import { readComponents, type StoredComponent } from "../matches/components.ts";
import { countingOf, type ImageOf, imagesByComponent } from "./found-findings.ts";
import { findImage } from "./image-names.ts";
import { countLevels } from "./image-views.ts";
import { componentMessage, statesOf } from "./messages.ts";
import { wantedPackages } from "./package-filter.ts";
import { selectImages } from "./selected-images.ts";

const sortable = {
  sortNames: { package: "package", version: "version", image_count: "image_count" },
  defaultOrder: [
    { column: "package", descending: false },
    { column: "version", descending: false },
  ],
};

/** Errors: INVALID_ARGUMENT, NOT_FOUND for an image that does not exist. */
export async function listComponents(request: ListComponentsRequest, context: HandlerContext) {
  const { query, order, after, pageSize, tokenAfter } = openList(sortable, request, context);
  const session = databaseOf(context);
  const scopes = scopesOf(context);
  const { uidp, repo, onlyTagged, image } = query;
  const named = image === undefined ? undefined : await findImage(session, image, { field: "image", scopes });
  const uids = named && [named.uid];
  const images = await imagesByComponent(
    session,
    await selectImages(session, { uidp, repo, onlyTagged, uids }, scopes),
  );
  const components = await readComponents(session, [...images.keys()]);
  const isWanted = wantedPackages(query);
  const found = [...components.values()].filter(
    (component) =>
      (isWanted === undefined || isWanted(component)) &&
      (query.unmatched === undefined || (unmatchedReason(component) !== undefined) === query.unmatched),
  );
  const keyOf = (component: StoredComponent): readonly ScalarValue[] => [
    ...order.map(({ column }) => valueOf(component, images, column)),
    component.purl,
  ];
  const terms = [...order, { column: "purl", descending: false }];
  const compare = (a: readonly ScalarValue[], b: readonly ScalarValue[]) => {
    for (const [i, { descending }] of terms.entries()) if (a[i] !== b[i]) return a[i]! < b[i]! === descending ? 1 : -1;
    return 0;
  };
  const sorted = found
    .map((component) => ({ component, key: keyOf(component) }))
    .filter(({ key }) => after === undefined || compare(key, after) > 0)
    .sort((a, b) => compare(a.key, b.key));
  const rest = sorted.slice(request.skip);
  const page = rest.slice(0, pageSize);
  const shown = new Map(page.map(({ component: { id } }) => [id, images.get(id)!]));
  const held = await countingOf(session, shown, await readMatches(session, [...shown.keys()]), {
    states: statesOf([]),
  });
  const findings = new Map(held.map((each) => [each.component.id, each.findings]));
  const messages = page.map(({ component }) =>
    create(ListedComponentSchema, {
      component: componentMessage(component),
      imageCount: images.get(component.id)!.length,
      levelCounts: countLevels(findings.get(component.id) ?? []),
      unmatchedReason: unmatchedReason(component) ?? "",
    }),
  );
  const length = messagePageLength(ListedComponentSchema, messages);
  const last = length < rest.length ? page[length - 1] : undefined;
  return create(ListComponentsResponseSchema, {
    components: messages.slice(0, length),
    totalCount: BigInt(found.length),
    skipped: request.skip,
    ...(last && { nextPageToken: tokenAfter(last.key) }),
  });
}

function valueOf(
  component: StoredComponent,
  images: ReadonlyMap<string, readonly ImageOf[]>,
  column: string,
): ScalarValue {
  if (column === "image_count") return images.get(component.id)!.length;
  return column === "version" ? component.version : `${component.name} ${component.type} ${component.namespace}`;
}
