/**
 * The events of a call, told by the annotations of its method and by what it has changed.
 *
 * - A method that makes, changes or removes one resource emits its own event for it. Every other row that came or went with it emits the event of its own
 *   type: that of the method which would have done it alone.
 * - A method about many (its answer is no resource) emits one event for all.
 * - Nothing changed, nothing emitted.
 *
 * The body is the answer, or the request of what deletes; `group` is the group that holds the subject, or the root where something else holds it. It says
 * nothing about who receives the event: those are the subscriptions of every group above the subject.
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

/** Something that a call has done to a resource. */
export interface ChangedResource {
  readonly kind: "created" | "updated" | "deleted";
  readonly resource: ResourceContract;
  /** What holds it; undefined where it has its holder's own uid, or is a group. */
  readonly holder: ResourceContract | undefined;
  readonly uid: string;
  /** The resource as a client would get it now. */
  read(): Promise<Message>;
}

/** Who has done something. */
export interface Actor {
  /** uid of the identity. */
  readonly subject: string;
  /** Claims of the token that it came with. */
  readonly act: Readonly<Record<string, unknown>>;
}

/** A call that has succeeded, and that nobody has heard of. */
export interface ChangingCall {
  readonly method: DescMethod;
  readonly request: Message;
  readonly response: Message;
  readonly changes: readonly ChangedResource[];
  readonly actor: Actor;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
}

/** Says what is to be recorded. */
export interface CallEvents {
  /** The events of a call. */
  ofCall(call: ChangingCall): Promise<NewEvent[]>;
  /** The events of changes that no call has asked for. */
  ofChanges(changes: readonly ChangedResource[], actor: Actor, timeMs: number): Promise<NewEvent[]>;
}

/** What {@link createCallEvents} needs. */
export interface CallEventsOptions {
  readonly contract: Contract;
  /** Where clients reach the API, without a trailing slash. */
  readonly baseUrl: string;
  /** Finds the types of google.protobuf.Any values. */
  readonly registry: Registry;
}

const verbs = { created: "Create", updated: "Update", deleted: "Delete" } as const;

/** Reads the annotations. */
export function createCallEvents({ contract, baseUrl, registry }: CallEventsOptions): CallEvents {
  const standard = new Map(contract.methods.map((method) => [standardName(method.method), method]));

  function event(
    { type, path }: EventContract,
    about: { subject: string; extensions: Record<string, string> },
    body: { schema: DescMessage; message: Message },
    { actor, timeMs }: Pick<ChangingCall, "actor" | "timeMs">,
  ): NewEvent {
    const json = redact(body.schema.typeName, createJsonWriter(body.schema, { registry })(body.message));
    return {
      timeMs,
      type,
      source: baseUrl + path,
      subject: about.subject,
      extensions: { ...about.extensions, bodytype: body.schema.typeName },
      data: `{"actor":${JSON.stringify(actor)},"body":${json}}`,
    };
  }

  async function ofChanges(changes: readonly ChangedResource[], actor: Actor, timeMs: number): Promise<NewEvent[]> {
    const events: NewEvent[] = [];
    for (const change of changes) {
      const name = `${verbs[change.kind]} ${change.resource.schema.file.proto.package} ${change.resource.kind}`;
      const { method, event: own } = standard.get(name) ?? {};
      if (method === undefined || own === undefined || own.internal) continue;
      const body =
        change.kind === "deleted"
          ? {
              schema: method.input,
              message: create(method.input, { uid: change.uid } as MessageInitShape<DescMessage>),
            }
          : { schema: method.output, message: await change.read() };
      events.push(event(own, ofResource(own, change), body, { actor, timeMs }));
    }
    return events;
  }

  return {
    ofChanges,
    async ofCall(call) {
      const { method, request, response, changes, actor, timeMs } = call;
      if (changes.length === 0) return [];
      const own = contract.of(method);
      const isAboutMany = !hasOption(method.output, resourceOption) && !method.name.startsWith("Delete");
      const isOwn = ({ resource }: ChangedResource) =>
        isAboutMany || resource.schema === method.output || method.name === `Delete${resource.kind}`;
      const change = changes.find(isOwn);
      const others = await ofChanges(
        changes.filter((other) => !isOwn(other)),
        actor,
        timeMs,
      );
      if (change === undefined || own.event === undefined || own.event.internal) return others;
      const about = isAboutMany ? ofScope(own.event, own, request) : ofResource(own.event, change);
      const body =
        change.kind === "deleted" && !isAboutMany
          ? { schema: method.input, message: request }
          : { schema: method.output, message: response };
      return [event(own.event, about, body, call), ...others];
    },
  };
}

/** `Create platform.iam.v2 Group`; other methods have a name that no change asks for. */
function standardName({ name, parent }: DescMethod): string {
  const [, verb = "", kind = name] = /^(Create|Update|Delete)(.+)$/.exec(name) ?? [];
  return `${verb} ${parent.file.proto.package} ${kind}`;
}

/** Subject and extensions of an event about one resource. */
function ofResource({ extensions }: EventContract, { kind, resource, holder, uid }: ChangedResource) {
  const isDeletedGroup = kind === "deleted" && resource.kind === "Group";
  const place = holder === undefined && !isDeletedGroup ? uid : parentOf(uid);
  return { subject: uid, extensions: attributes(extensions, place, holder?.kind ?? "Group") };
}

/** Subject and extensions of an event about what is below the scope of a call. */
function ofScope({ extensions }: EventContract, { method, authorization }: MethodContract, request: Message) {
  if (authorization.kind !== "scoped") throw new Error(`${method.name} has an event about many and no scope`);
  const subject = authorization.scope.uidOf(request);
  const [, kind = ""] = authorization.scope.resourceType.split("/");
  return { subject, extensions: attributes(extensions, subject, kind) };
}

/** Extension attributes by name, for what is at a place of this kind: an attribute has the name of the kind of resource that it names. */
function attributes(names: readonly string[], place: string, kind: string): Record<string, string> {
  const uidOf = (name: string) => {
    if (name === kind.toLowerCase()) return place || "/";
    if (name === "group") return rootOf(place) || "/";
    throw new Error(`what is in a ${kind} has no attribute ${name}`);
  };
  return Object.fromEntries(names.map((name) => [name, uidOf(name)]));
}
