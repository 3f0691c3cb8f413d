/** Calls of methods by their descriptors. */
import { create, type DescMethod, type DescMethodUnary, type Message } from "@bufbuild/protobuf";
import { explainMissing } from "./failure.ts";
import type { Session } from "./session.ts";

/** Calls a unary method. @param request a message, or its fields by their local names. */
export async function callMethod(session: Session, method: DescMethod, request: object): Promise<Message> {
  const message = "$typeName" in request ? (request as Message) : create(method.input, request as never);
  try {
    const unary = method as DescMethodUnary;
    const { message: response } = await session.transport.unary(unary, undefined, undefined, undefined, message);
    return response;
  } catch (error) {
    throw explainMissing(error, method, session.server);
  }
}
