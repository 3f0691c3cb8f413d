/** Terms of v1. */
import * as v1 from "../../../gen/platform/iam/v1/terms_pb.ts";
import * as v2 from "../../../gen/platform/iam/v2/terms_pb.ts";
import { serviceOfV1 } from "./common.ts";

const notShown = "v1 does not show it";

export const termsOfV1 = serviceOfV1(v1.Terms, {
  messages: [
    {
      older: v1.TermsDocumentStatusSchema,
      newer: v2.TermsAcceptanceSchema,
      fields: { accepted_at: "create_time" },
      onlyNewer: { org_uid: notShown, uid: notShown },
    },
    {
      older: v1.TermsFilterSchema,
      newer: v2.ListTermsAcceptancesRequestSchema,
      onlyNewer: { doc_id: "no filter of v1" },
    },
  ],
  methods: ({ call, list }) => {
    const { acceptTerms, listTermsAcceptances } = v2.TermsService.method;
    return {
      acceptTerms: (method) => call(method, acceptTerms),
      listAccepted: (method) => list(method, listTermsAcceptances),
    };
  },
});
