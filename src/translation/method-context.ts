import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { PlainHeaders } from "../call/index.ts";

/** The context of a call, as the handler of another method sees it. Its response headers are not those of the call. */
export class MethodContext implements HandlerContext {
  readonly method: DescMethod;
  readonly #call: HandlerContext;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(call: HandlerContext, method: DescMethod) {
    this.method = method;
    this.#call = call;
  }

  get service(): DescService {
    return this.method.parent;
  }

  get values() {
    return this.#call.values;
  }

  get signal() {
    return this.#call.signal;
  }

  get requestMethod() {
    return this.#call.requestMethod;
  }

  get protocolName() {
    return this.#call.protocolName;
  }

  get url() {
    return this.#call.url;
  }

  get requestHeader() {
    return this.#call.requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new PlainHeaders();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new PlainHeaders();
    return this.#responseTrailer;
  }

  timeoutMs() {
    return this.#call.timeoutMs();
  }
}
