/** The annotations of resources and their fields. */
import { type DescField, type DescMessage, hasOption } from "@bufbuild/protobuf";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { resource } from "../../gen/google/api/resource_pb.ts";
import { type ResourceEvents, resource_events } from "../../gen/platform/annotations/annotations_pb.ts";
import { getOption } from "../annotations.ts";

/** The names of a resource and the behavior of its fields. */
export interface ResourceContract {
  readonly schema: DescMessage;
  /** `iam.platform.internal/Group`, as annotated. */
  readonly type: string;
  /** `Group`. */
  readonly kind: string;
  /** `groups`. */
  readonly plural: string;
  /** The behavior of the direct fields of the resource. */
  readonly behaviors: FieldBehaviors;
  /** The events of changes that are not those of methods. */
  readonly events: ResourceEvents | undefined;
}

/**
 * The fields that only the server sets, those that never change after creation, and those that are never returned
 * (AIP-203).
 */
interface FieldBehaviors {
  readonly outputOnly: ReadonlySet<DescField>;
  readonly immutable: ReadonlySet<DescField>;
  readonly inputOnly: ReadonlySet<DescField>;
}

/** Reads the annotations of a resource. Errors: a plain Error when the message is not a resource. */
export function readResource(schema: DescMessage): ResourceContract {
  if (!hasOption(schema, resource)) throw new Error(`${schema.typeName} has no google.api.resource`);
  const { type, plural } = getOption(schema, resource);
  const kind = type.split("/")[1];
  if (kind === undefined || plural === "") throw new Error(`${schema.typeName}: incomplete google.api.resource`);
  const events = hasOption(schema, resource_events) ? getOption(schema, resource_events) : undefined;
  return { schema, type, kind, plural, behaviors: readBehaviors(schema), events };
}

const cache = new WeakMap<DescMessage, FieldBehaviors>();

/** The behavior of the direct fields of a message. */
export function readBehaviors(schema: DescMessage): FieldBehaviors {
  let behaviors = cache.get(schema);
  if (behaviors === undefined) {
    const having = (behavior: FieldBehavior) =>
      new Set(schema.fields.filter((field) => getOption(field, field_behavior).includes(behavior)));
    behaviors = {
      outputOnly: having(FieldBehavior.OUTPUT_ONLY),
      immutable: having(FieldBehavior.IMMUTABLE),
      inputOnly: having(FieldBehavior.INPUT_ONLY),
    };
    cache.set(schema, behaviors);
  }
  return behaviors;
}
