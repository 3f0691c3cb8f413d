/**
 * call: one call inside this process, through interceptors to a handler, whatever its protocol.
 *
 * It knows no protocol, no domain and no policy. Guarantees: errors pass as they were thrown; a call ends with its
 * deadline or its caller's cancellation, even if the handler ignores them; a call that never waits is answered
 * synchronously.
 */
export { clientAddressOf, valuesWithAddress } from "./address.ts";
export type { CallTimes, RanStatement } from "./call-times.ts";
export { addFields, PlainHeaders } from "./headers.ts";
export {
  type CallFn,
  type CallInterceptor,
  type CallRequest,
  type CallResponse,
  type ErrorHandler,
  onError,
  type UnaryCallResponse,
} from "./interceptor.ts";
export {
  beginTimes,
  type LocalAnswer,
  LocalCall,
  type Protocol,
  piecesOf,
  protocolOf,
  replaceMessage,
  type Touched,
  takesParts,
  timesOf,
} from "./local-call.ts";
export {
  type BegunCall,
  createLocalTransport,
  type LocalTransport,
  type ServiceImplementation,
} from "./local-transport.ts";
