/** Artifacts of v1. */
import { create, type Message } from "@bufbuild/protobuf";
import * as v1 from "../../../gen/platform/libraries/v1/artifacts_pb.ts";
import * as v2 from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { chain } from "../../awaitable.ts";
import type { Conversion } from "../../translation/index.ts";
import { serviceOfV1 } from "./common.ts";

const notHeld = "this server holds no remediated libraries";
const noUpstream = "this server holds no libraries of upstream registries";
const notKnown = "this server does not know it";
/** The ecosystems of which this server holds no libraries. */
const notHeldEcosystems = [
  "JAVA_REMEDIATED",
  "PYTHON_REMEDIATED",
  "JAVASCRIPT_REMEDIATED",
  "DOTNET",
  "DOTNET_REMEDIATED",
  "GO",
  "GO_REMEDIATED",
];

/** A count that v2 holds in 64 bits. */
const asCount = (name: string): Conversion => ({
  name,
  toNewer: (count: number) => BigInt(count),
  toOlder: (count: bigint) => Number(count),
});

export const artifactsOfV1 = serviceOfV1(v1.Artifacts, {
  messages: [
    {
      older: v1.ArtifactFilterSchema,
      newer: v2.ListArtifactsRequestSchema,
      onlyOlder: { include_upstream: noUpstream },
      refused: { cuda_version: "this server holds no variants of libraries", remediated: notHeld },
    },
    {
      older: v1.ArtifactListSchema,
      newer: v2.ListArtifactsResponseSchema,
      fields: { items: "artifacts", total_artifacts: asCount("total_count") },
    },
    {
      older: v1.ArtifactVersionFilterSchema,
      newer: v2.ListArtifactVersionsRequestSchema,
      fields: { id: "artifact_id" },
      onlyOlder: { include_upstream: noUpstream },
    },
    {
      older: v1.ArtifactVersionSchema,
      newer: v2.ArtifactVersionSchema,
      onlyOlder: {
        source_type: notKnown,
        malware_scanned: notKnown,
        malware_malicious: notKnown,
        upstream_published_date: notKnown,
      },
      onlyNewer: { ecosystem: "v1 tells it with the artifact", yanked: "v1 does not show it" },
    },
    {
      older: v1.GetArtifactCountResponse_CountSchema,
      newer: v2.GetArtifactCountResponse_EcosystemCountSchema,
      fields: { total_artifacts: asCount("total_count") },
    },
  ],
  enums: [
    {
      older: v1.EcosystemSchema,
      newer: v2.EcosystemSchema,
      onlyOlder: Object.fromEntries(notHeldEcosystems.map((name) => [name, "this server holds none"])),
    },
  ],
  methods: ({ call, list, custom, calling }) => {
    const { listArtifacts, listArtifactVersions, getArtifactCount } = v2.ArtifactsService.method;
    return {
      list: (method) => call(method, listArtifacts),
      listVersions: (method) => list(method, listArtifactVersions, { idField: "" }),
      getArtifactCount: (method) => {
        const countHeld = calling(getArtifactCount, method.input, method.output);
        return custom(method, getArtifactCount, (request: v1.GetArtifactCountRequest, context) => {
          const ecosystems = [...new Set(request.ecosystems)];
          const held = ecosystems.filter(
            (ecosystem) => !notHeldEcosystems.includes(v1.EcosystemSchema.value[ecosystem]!.name),
          );
          return chain(countHeld({ ...request, ecosystems: held } as Message, context), (response) => {
            const { counts } = response as v1.GetArtifactCountResponse;
            const countOf = (ecosystem: v1.Ecosystem) =>
              counts.find((each) => each.ecosystem === ecosystem)?.totalArtifacts ?? 0;
            return create(v1.GetArtifactCountResponseSchema, {
              counts: ecosystems.map((ecosystem) => ({ ecosystem, totalArtifacts: countOf(ecosystem) })),
            });
          });
        });
      },
    };
  },
});
