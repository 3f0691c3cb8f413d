/**
 * pipeline: what happens to every call, in order: log it, audit failures, hide bugs, authenticate, authorize, validate,
 * and run it in a transaction that also records its audit line and events. The list is in `pipeline.ts`, with one file
 * per interceptor.
 *
 * Calls of the operator, which have no token, are validated and recorded in the same way.
 */
export type { EndpointCall, EndpointCaller, EndpointCalls, RunningCall } from "./endpoint-calls.ts";
export { idempotentAnswers } from "./idempotency.ts";
export { createOperator, type Operator, type OperatorCall, type OperatorOptions } from "./operator.ts";
export { createPipeline, type PipelineOptions } from "./pipeline.ts";
export { createEventRecorder, type EventRecorder } from "./record-events.ts";
export type { RecordRegistryEvent } from "./registry-event.ts";
export { callersError, isOutage } from "./store-errors.ts";
