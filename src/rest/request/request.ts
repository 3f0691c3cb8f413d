/**
 * One request message from path, query and body, compiled per binding.
 *
 * The path wins over the body. Path and query are checked before the body is read. A PATCH whose body is a field and
 * whose query has no `update_mask` gets one from the JSON keys present, so that `{"description": ""}` clears a field
 * and an absent key keeps it. Fields that the path binds are not part of the mask. A protobuf body has no keys, and
 * gets no mask.
 */

import { create, type DescField, type Message } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { setField, Violations } from "../../codec/index.ts";
import { invalidArgument } from "../../message/index.ts";
import type { Binding, BoundVariable } from "../binding.ts";
import { findField, holderOf, isRequired, leafField } from "../field-path.ts";
import { captureOf, type SlashInMultiSegment } from "../path.ts";
import { type BodyOptions, type BodyReader, createBodyReader, type RequestBody } from "./body.ts";
import { createQueryReader } from "./query.ts";
import { createRequiredCheck } from "./required.ts";
import { textReaderOf } from "./text-value.ts";

/** Options of a request reader. */
interface RequestOptions extends BodyOptions {
  /** Skip unknown query parameters instead of refusing them. */
  readonly ignoreUnknownParameters?: boolean | undefined;
  /** How `%2F` in captures of several segments is treated; default `keep`. */
  readonly slashInMultiSegment?: SlashInMultiSegment | undefined;
}

/** Reads the requests of one binding. */
export interface RequestReader extends Pick<BodyReader, "kind" | "moreTypes" | "kindOf"> {
  /**
   * Checks path and query, and returns the function that completes the message with the body.
   * Errors of both: INVALID_ARGUMENT with all violations.
   */
  begin(segments: readonly string[], query: string): (content: RequestBody) => Message;
}

/** The reader for the requests of a binding. */
export function createRequestReader(binding: Binding, options: RequestOptions): RequestReader {
  const { input } = binding.method;
  const readQuery = createQueryReader(binding, options.ignoreUnknownParameters ?? false);
  const body = createBodyReader(binding, options);
  const maskField = impliedMaskField(binding);
  const checkRequired = createRequiredCheck(input);
  const slash = options.slashInMultiSegment ?? "keep";
  const captures = binding.variables.map((variable) => createCapture(variable, binding, slash));
  return {
    kind: body.kind,
    moreTypes: body.moreTypes,
    kindOf: body.kindOf,
    begin(segments, query) {
      const violations = new Violations();
      const values = captures.map(({ read }) => read(segments, violations));
      let message = create(input) as Message;
      const given = query === "" ? noNames : readQuery(query, message, violations);
      throwIfAny(violations);
      return (content) => {
        const { replaced, paths } = body.read(message, content, violations);
        throwIfAny(violations);
        message = replaced ?? message;
        if (maskField !== undefined && paths !== undefined && !given.has(maskField.name))
          setField(message, maskField, create(FieldMaskSchema, { paths }));
        for (let i = 0; i < values.length; i++) captures[i]!.put(message, values[i]);
        checkRequired?.(message, violations);
        throwIfAny(violations);
        return message;
      };
    },
  };
}

const noNames: ReadonlySet<string> = new Set();

function throwIfAny(violations: Violations): void {
  if (violations.list.length > 0) throw invalidArgument(violations.list);
}

/** What the path has for one field. */
interface Capture {
  read(segments: readonly string[], violations: Violations): unknown;
  put(message: Message, value: unknown): void;
}

function createCapture(variable: BoundVariable, binding: Binding, slash: SlashInMultiSegment): Capture {
  const { path, fieldPath } = variable;
  const leaf = leafField(path);
  const reader = textReaderOf(leaf);
  const mustHaveText = isRequired(leaf);
  return {
    read(segments, violations) {
      const text = captureOf(variable, binding, segments, slash);
      if (text === undefined || reader === undefined)
        return violations.add("malformed escape or text in the path", fieldPath);
      if (text === "" && mustHaveText) return violations.add("is required", fieldPath);
      return reader.read(text) ?? violations.add(`must be ${reader.expects}`, fieldPath);
    },
    put: (message, value) => setField(holderOf(message, path), leaf, value),
  };
}

function impliedMaskField(binding: Binding): DescField | undefined {
  const field = findField(binding.method.input, "update_mask");
  const isMask = field?.fieldKind === "message" && field.message.typeName === FieldMaskSchema.typeName;
  return binding.httpMethod === "PATCH" && typeof binding.body === "object" && isMask ? field : undefined;
}
