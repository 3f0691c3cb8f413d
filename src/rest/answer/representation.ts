/** The forms in which a method answers, and the choice among them by `Accept`. */
import { Code } from "@connectrpc/connect";
import {
  addVary,
  chooseMediaType,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  Refusal,
} from "../../message/index.ts";
import type { Binding } from "../binding.ts";
import type { CompleteOptions } from "../options.ts";
import { createProtobufWriter, protobufTypes } from "../protobuf.ts";
import { createPayloadWriter, type PayloadWriter } from "./payload.ts";
import { type StreamType, streamTypes } from "./stream.ts";

/** A form in which a method answers. */
export interface Representation {
  /** The media type; that of a google.api.HttpBody is in the message. */
  readonly type: StreamType | (typeof protobufTypes)[number];
  readonly payload: PayloadWriter;
}

/** Chooses the form of an answer. Errors: 406. */
type ChooseRepresentation = (request: HttpRequest, response: HttpResponse) => Representation;

/** The choice for a binding. Server streams are never protobuf. */
export function createRepresentations(binding: Binding, options: CompleteOptions): ChooseRepresentation {
  const isStream = binding.method.methodKind === "server_streaming";
  const payload = createPayloadWriter(binding, options);
  const forms: Representation[] = (isStream ? streamTypes : streamTypes.slice(0, 1)).map((type) => ({ type, payload }));
  const write =
    options.protobufBodies === true && !isStream && payload.kind === "json" ? createProtobufWriter(binding) : undefined;
  if (write !== undefined) for (const type of protobufTypes) forms.push({ type, payload: { kind: "protobuf", write } });
  const offered = forms.map(({ type }) => type);
  const varies = forms.length > 1 && payload.kind === "json";
  return (request, response) => {
    if (varies) addVary(response, "Accept");
    const type = chooseMediaType(headerOf(request, "accept"), offered);
    const form = type === undefined ? rawForm(forms) : forms.find((candidate) => candidate.type === type);
    if (form === undefined)
      throw new Refusal(406, Code.InvalidArgument, `Invalid argument: this method answers with ${offered.join(", ")}`);
    return form;
  };
}

/** The form of a google.api.HttpBody, which is sent whatever the client accepts. */
function rawForm(forms: readonly Representation[]): Representation | undefined {
  return forms.find(({ payload }) => payload.kind === "raw");
}
