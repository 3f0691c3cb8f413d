import type { CallInterceptor } from "../call/index.ts";
import { nulViolations, violationsOf } from "../contract/index.ts";
import { invalid } from "../errors.ts";

/**
 * Checks the value rules of the request. Those of a resource in it are checked by the method, on the merged resource.
 */
export const validate: CallInterceptor =
  (next, { input }) =>
  (request) => {
    if (request.stream) throw new Error("methods of the contract do not stream");
    const violations = violationsOf(input, request.message);
    const nul = nulViolations(input, request.message);
    if (violations.length > 0 || nul.length > 0) throw invalid([...violations, ...nul]);
    return next(request);
  };
