/** Security advisory data of v1. */
import * as v1 from "../../../gen/platform/advisory/v1/security_advisory_pb.ts";
import * as v2 from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { serviceOfV1 } from "./common.ts";

const identified = { uid: "v1 names it by its id" } as const;

export const securityAdvisoryOfV1 = serviceOfV1(v1.SecurityAdvisory, {
  messages: [
    { older: v1.DocumentSchema, newer: v2.DocumentSchema, onlyNewer: identified },
    { older: v1.AdvisorySchema, newer: v2.DocumentAdvisorySchema },
    {
      older: v1.VulnerabilityMetadataSchema,
      newer: v2.VulnerabilityMetadataSchema,
      fields: { severity: "severities" },
      onlyNewer: { ...identified, aliases: "v1 does not show them", withdraw_time: "v1 does not show it" },
    },
    {
      older: v1.VulnerabilityMetadataListSchema,
      newer: v2.ListVulnerabilityMetadataResponseSchema,
      fields: { items: "vulnerability_metadata" },
    },
    {
      older: v1.ResolvedVulnsReportFilterSchema,
      newer: v2.ListResolvedVulnsReportsRequestSchema,
      fields: { from: "start_time", to: "end_time" },
    },
    {
      older: v1.ResolvedVulnsReportSchema,
      newer: v2.ResolvedVulnsReportSchema,
      onlyNewer: { uid: "v1 names it by its date" },
    },
  ],
  enums: [
    {
      older: v1.Severity_TypeSchema,
      newer: v2.Severity_TypeSchema,
      onlyOlder: { UBUNTU: "metadata holds CVSS ratings only" },
    },
    {
      older: v1.FalsePositiveDetermination_TypeSchema,
      newer: v2.FalsePositiveDetermination_TypeSchema,
      values: Object.fromEntries(
        v1.FalsePositiveDetermination_TypeSchema.values.map(({ name }) => [name, name.replace(/^FPT_/, "")]),
      ),
    },
  ],
  methods: ({ call, list }) => {
    const { listDocuments, listVulnerabilityMetadata, listResolvedVulnsReports } = v2.SecurityAdvisoryService.method;
    return {
      listDocuments: (method) => list(method, listDocuments, { idField: "" }),
      listVulnerabilityMetadata: (method) => call(method, listVulnerabilityMetadata),
      listResolvedVulnsReports: (method) => list(method, listResolvedVulnsReports),
    };
  },
});
