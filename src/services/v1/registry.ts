/** The registry of v1. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
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
import type { RepoReadmeSchema } from "../../../gen/platform/registry/v2/repos_pb.ts";
import * as v2 from "../../../gen/platform/registry/v2/tags_pb.ts";
import { type Resource, toResponse, updateResource } from "../../resource/index.ts";
import { setCarriedOut } from "../../translation/index.ts";
import { byId, type ServiceOfV1, serviceOfV1 } from "./common.ts";
import { eolTagTables, listEolTags } from "./eol-tags.ts";
import { repoMethods, repoTables } from "./repos.ts";
import { getVulnReport } from "./vuln-reports.ts";

const always = "every tag is listed unless it is excluded";

/** The resources that the registry of v1 reads itself. */
interface RegistryResources {
  readonly repos: Resource;
  readonly readmes: Resource<typeof RepoReadmeSchema>;
  readonly tags: Resource<typeof v2.TagSchema>;
}

export function registryOfV1({ repos, readmes, tags }: RegistryResources): ServiceOfV1 {
  return {
    tables: {
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
    },
    mount(translations) {
      const { call, list, custom, translate } = translations;
      const { createTag, listTags, getTag, deleteTag } = v2.TagsService.method;
      const { getArchitectures, getSize } = ImagesService.method;
      const tag = translate(v1.TagSchema, v2.TagSchema);
      return serviceOfV1(Registry, {
        ...repoMethods(translations, repos, readmes),
        createTag: (method) => call(method, createTag),
        updateTag: (method) =>
          custom(method, createTag, async (request: v1.Tag, context: HandlerContext) => {
            const body = tag.toNewer(request) as v2.Tag;
            const mask = {
              $typeName: "google.protobuf.FieldMask" as const,
              paths: ["digest", "deprecated", "bundles"],
            };
            const response = await toResponse(tags, await updateResource(tags, body.uid, body, mask, context), context);
            setCarriedOut(context.values, { method: method as DescMethodUnary, request, response });
            return tag.toOlder(response);
          }),
        listTags: (method) => list(method, listTags, { get: getTag }),
        deleteTag: (method) => call(method, deleteTag),
        getArchs: (method) => call(method, getArchitectures),
        getSize: (method) => call(method, getSize),
        listEolTags: listEolTags(translations, repos),
        getVulnReport: getVulnReport(translations, repos),
      });
    },
  };
}
