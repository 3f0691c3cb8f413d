/** The registry of v1. */
import { create, type DescMethod, type DescMethodUnary, type Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import * as images from "../../../gen/platform/registry/v1/images_pb.ts";
import { Registry } from "../../../gen/platform/registry/v1/registry_pb.ts";
import * as v1 from "../../../gen/platform/registry/v1/tags_pb.ts";
import {
  ArchitecturesSchema,
  GetArchitecturesRequestSchema,
  GetSizeRequestSchema,
  ImagesService,
  SizeSchema,
} from "../../../gen/platform/registry/v2/images_pb.ts";
import * as v2 from "../../../gen/platform/registry/v2/tags_pb.ts";
import { holdResource, storeResource, toResponse, updateResource } from "../../resource/index.ts";
import type { Row } from "../../store/index.ts";
import { setCarriedOut } from "../../translation/index.ts";
import { repos } from "../registry/repos.ts";
import { tagNamed, tags } from "../registry/tags.ts";
import { byId, serviceOfV1 } from "./common.ts";
import { eolTagTables, listEolTags } from "./eol-tags.ts";
import { repoMethods, repoTables } from "./repos.ts";
import { getVulnReport } from "./vuln-reports.ts";

const always = "every tag is listed unless it is excluded";

export const registryOfV1 = serviceOfV1(Registry, {
  messages: [
    ...(repoTables.messages ?? []),
    ...eolTagTables,
    { older: v1.TagSchema, newer: v2.TagSchema, fields: { last_updated: "update_time" } },
    { older: v1.CreateTagRequestSchema, newer: v2.CreateTagRequestSchema, fields: { repo_id: "parent" } },
    {
      older: v1.TagFilterSchema,
      newer: v2.ListTagsRequestSchema,
      onlyOlder: byId,
      onlyNewer: { include_referrers: always, include_dates: always, include_epochs: always },
    },
    { older: images.ArchRequestSchema, newer: GetArchitecturesRequestSchema, fields: { repo_id: "repo_uid" } },
    { older: images.ArchsSchema, newer: ArchitecturesSchema, fields: { archs: "architectures" } },
    {
      older: images.SizeRequestSchema,
      newer: GetSizeRequestSchema,
      fields: { repo_id: "repo_uid", arch: "architecture" },
    },
    { older: images.SizeSchema, newer: SizeSchema, fields: { arch: "architecture" } },
  ],
  methods(translations) {
    const { call, calling, list, custom, translate } = translations;
    const { createTag, listTags, getTag, deleteTag } = v2.TagsService.method;
    const { getArchitectures, getSize } = ImagesService.method;
    const tag = translate(v1.TagSchema, v2.TagSchema);
    const creation = translate(v1.CreateTagRequestSchema, v2.CreateTagRequestSchema);
    const createWithDigest = calling(createTag, v1.CreateTagRequestSchema, v1.TagSchema);

    /** Replaces a tag. An empty digest keeps that which it has. */
    function change(uid: string, body: v2.Tag, context: HandlerContext): Promise<Row> {
      const paths = [...(body.digest === "" ? [] : ["digest"]), "deprecated", "bundles"];
      return updateResource(tags, uid, body, { $typeName: "google.protobuf.FieldMask", paths }, context);
    }

    /** Stores a tag that names no image yet, which v2 does not create. Its other rules are those of v1. */
    async function storeUndigested(parent: string, { name, deprecated, bundles }: v2.Tag, context: HandlerContext) {
      await holdResource(repos, parent, context);
      return storeResource(tags, parent, create(v2.TagSchema, { name, deprecated, bundles }), context);
    }

    async function answer(method: DescMethod, request: Message, row: Row, context: HandlerContext) {
      const response = await toResponse(tags, row, context);
      setCarriedOut(context.values, { method: method as DescMethodUnary, request, response });
      return tag.toOlder(response);
    }

    return {
      ...repoMethods(translations),
      createTag: (method) =>
        custom(method, createTag, async (request: v1.CreateTagRequest, context: HandlerContext) => {
          if (request.tag?.digest !== "") return createWithDigest(request, context);
          const body = tag.toNewer(request.tag) as v2.Tag;
          const existing = await tagNamed(request.repoId, body.name, context);
          const row =
            existing === undefined
              ? await storeUndigested(request.repoId, body, context)
              : await change(existing.uid, body, context);
          return answer(createTag, creation.toNewer(request), row, context);
        }),
      updateTag: (method) =>
        custom(method, createTag, async (request: v1.Tag, context: HandlerContext) => {
          const body = tag.toNewer(request) as v2.Tag;
          return answer(method, request, await change(body.uid, body, context), context);
        }),
      listTags: (method) => list(method, listTags, { get: getTag }),
      deleteTag: (method) => call(method, deleteTag),
      getArchs: (method) => call(method, getArchitectures),
      getSize: (method) => call(method, getSize),
      listEolTags: listEolTags(translations),
      getVulnReport: getVulnReport(translations),
    };
  },
});
