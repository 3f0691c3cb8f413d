/**
 * Derives the events of a call from the annotations of its method and from the resources that it changed.
 *
 * - A method that creates, updates or deletes one resource emits its own event for it. Every other resource that
 *   changed with it emits the event of the standard method that would have changed it alone.
 * - A method on several resources (its response is not a resource) emits one event for all of them.
 * - A resource with events of its own, see `resource_events`, emits these, whoever changes it.
 * - A call that changed nothing emits nothing.
 *
 * The body is the response, or the request of a deletion. `group` is the parent group of the subject, or the root group
 * if the parent is not a group. It does not decide who receives the event.
 */
import {
  create,
  type DescMessage,
  type DescMethod,
  hasOption,
  type Message,
  type MessageInitShape,
  type Registry,
} from "@bufbuild/protobuf";
import { resource as resourceOption } from "../../gen/google/api/resource_pb.ts";
import { createJsonWriter } from "../codec/index.ts";
import type { Contract, EventContract, MethodContract, ResourceContract } from "../contract/index.ts";
import { parentOf, rootOf } from "../uid.ts";
import type { NewEvent } from "./event.ts";
import { redact } from "./redaction.ts";

/** One change to one resource. */
export interface ChangedResource {
  readonly kind: "created" | "updated" | "fixed" | "deleted";
  readonly resource: ResourceContract;
  /** The parent resource; undefined for a group, and for a resource with the uid of its parent. */
  readonly holder: ResourceContract | undefined;
  readonly uid: string;
  /** Reads the resource as a Get would return it now. */
  read(): Promise<Message>;
}

/** Who made a change. */
export interface Actor {
  /** uid of the identity. */
  readonly subject: string;
  /** Claims of the token that authenticated it. */
  readonly act: Readonly<Record<string, unknown>>;
}

/** A call that succeeded, and its changes. */
interface ChangingCall {
  readonly method: DescMethod;
  readonly request: Message;
  readonly response: Message;
  readonly changes: readonly ChangedResource[];
  /** Who acts in the organisation of a uid. */
  actorAt(uid: string): Actor;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
}

/** What {@link createCallEvents} needs. */
interface CallEventsOptions {
  readonly contract: Contract;
  /** Base URL of the API, without a trailing slash. */
  readonly baseUrl: string;
  /** Resolves the types of google.protobuf.Any values. */
  readonly typeRegistry: Registry;
}

const verbs = { created: "Create", updated: "Update", fixed: "Update", deleted: "Delete" } as const;

/** Creates what derives events from changes, by a contract. */
export function createCallEvents({ contract, baseUrl, typeRegistry }: CallEventsOptions) {
  const byStandardName = new Map(contract.methods.map((method) => [standardName(method), method]));

  function event(
    { type, path }: EventContract,
    about: { subject: string; extensions: Record<string, string> },
    body: { schema: DescMessage; message: Message },
    { actorAt, timeMs }: Pick<ChangingCall, "actorAt" | "timeMs">,
  ): NewEvent {
    const actor = actorAt(about.subject);
    const json = redact(body.schema.typeName, createJsonWriter(body.schema, { registry: typeRegistry })(body.message));
    return {
      timeMs,
      type,
      source: baseUrl + path,
      subject: about.subject,
      extensions: { ...about.extensions, bodytype: body.schema.typeName },
      data: `{"actor":${JSON.stringify(actor)},"body":${json}}`,
    };
  }

  async function ofChanges(
    changes: readonly ChangedResource[],
    actorAt: ChangingCall["actorAt"],
    timeMs: number,
  ): Promise<NewEvent[]> {
    const events: NewEvent[] = [];
    for (const change of changes) {
      const { schema, events: ofResourceItself } = change.resource;
      if (ofResourceItself !== undefined) {
        const { path, [change.kind]: type } = ofResourceItself;
        const contract = { type, path, extensions: ["group"], internal: false };
        const body = { schema, message: await change.read() };
        events.push(event(contract, ofResource(contract, change), body, { actorAt, timeMs }));
        continue;
      }
      const name = `${verbs[change.kind]} ${change.resource.schema.file.proto.package} ${change.resource.kind}`;
      const { method, event: own } = byStandardName.get(name) ?? {};
      if (method === undefined || own === undefined || own.internal) continue;
      const body =
        change.kind === "deleted"
          ? {
              schema: method.input,
              message: create(method.input, { uid: change.uid } as MessageInitShape<DescMessage>),
            }
          : { schema: method.output, message: await change.read() };
      events.push(event(own, ofResource(own, change), body, { actorAt, timeMs }));
    }
    return events;
  }

  return {
    /** The events of changes made outside of a call, as by a sign-in. */
    ofChanges,
    /** The events of a call. */
    async ofCall(call: ChangingCall): Promise<NewEvent[]> {
      const { method, request, response, changes, actorAt, timeMs } = call;
      if (changes.length === 0) return [];
      const own = contract.of(method);
      const isDelete = own.standard?.verb === "Delete";
      const isAboutMany = own.event !== undefined && !hasOption(method.output, resourceOption) && !isDelete;
      const isOwn = ({ resource }: ChangedResource) =>
        isAboutMany || resource.schema === method.output || (isDelete && own.standard?.kind === resource.kind);
      const change = changes.find(isOwn);
      const others = await ofChanges(
        changes.filter((other) => !isOwn(other)),
        actorAt,
        timeMs,
      );
      if (change === undefined || own.event === undefined || own.event.internal) return others;
      const about = isAboutMany ? ofScope(own.event, own, request) : ofResource(own.event, change);
      const body =
        change.kind === "deleted" && !isAboutMany
          ? { schema: method.input, message: request }
          : { schema: typeRegistry.getMessage(response.$typeName) ?? method.output, message: response };
      return [event(own.event, about, body, call), ...others];
    },
  };
}

/** `Create platform.iam.v2 Group`. The name of a method that is not standard matches no change. */
function standardName({ method, standard }: MethodContract): string {
  return `${standard?.verb} ${method.parent.file.proto.package} ${standard?.kind}`;
}

/** Subject and extensions of an event about one resource. */
function ofResource({ extensions }: EventContract, { kind, resource, holder, uid }: ChangedResource) {
  const isDeletedGroup = kind === "deleted" && resource.kind === "Group";
  const parent = holder === undefined && !isDeletedGroup ? uid : parentOf(uid);
  return { subject: uid, extensions: attributes(extensions, parent, holder?.kind ?? "Group") };
}

/** Subject and extensions of an event about several resources: those of the scope of the call. */
function ofScope({ extensions }: EventContract, { method, authorization }: MethodContract, request: Message) {
  if (authorization.kind !== "scoped") throw new Error(`${method.name} has an event about many and no scope`);
  const subject = authorization.scope.uidOf(request);
  const [, kind = ""] = authorization.scope.resourceType.split("/");
  return { subject, extensions: attributes(extensions, subject, kind) };
}

/**
 * Values of extension attributes for a resource with this parent. An attribute is named after the resource type whose
 * uid it holds.
 */
function attributes(names: readonly string[], parent: string, parentKind: string): Record<string, string> {
  const uidOf = (name: string) => {
    if (name === parentKind.toLowerCase()) return parent || "/";
    if (name === "group") return rootOf(parent) || "/";
    throw new Error(`a resource in a ${parentKind} has no attribute ${name}`);
  };
  return Object.fromEntries(names.map((name) => [name, uidOf(name)]));
}
