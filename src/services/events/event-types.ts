/** The types of events, from the annotations of methods and resources. */
import { create, type DescMessage, type DescMethod, type DescService, hasOption } from "@bufbuild/protobuf";
import { Event_Audience, events, resource_events } from "../../../gen/platform/annotations/annotations_pb.ts";
import { type EventType, EventTypeSchema } from "../../../gen/platform/delivery/v1/deliveries_pb.ts";
import { getOption, standardMethodOf } from "../../annotations.ts";

/** The types of the events of services that are for customers, in the order of their names. */
export function eventTypesOf(services: readonly DescService[]): EventType[] {
  const methods = services.flatMap((service) => service.methods);
  const messages = new Set(methods.flatMap(({ input, output }) => [input.typeName, output.typeName]));
  const packages = new Set(services.map(({ file }) => file.proto.package));
  const emitting = methods.filter(
    (method) => hasOption(method, events) && getOption(method, events).audience === Event_Audience.CUSTOMER,
  );

  /** Methods of version 1 emit the messages of version 2, where it has them. */
  function bodyTypesOf(emitters: readonly DescMethod[]): string[] {
    const latest = emitters.filter(({ parent }) => !packages.has(successor(parent.file.proto.package)));
    const names = (latest.length > 0 ? latest : emitters).map(bodyTypeOf);
    return [...new Set(names.map((name) => (messages.has(successor(name)) ? successor(name) : name)))].sort();
  }

  const ofMethods = [...Map.groupBy(emitting, (method) => getOption(method, events).type)].map(([type, emitters]) =>
    create(EventTypeSchema, {
      type,
      bodyTypes: bodyTypesOf(emitters),
      extensions: [...new Set(emitters.flatMap((method) => getOption(method, events).extensions))],
      audience: "customer",
      methods: emitters.map(({ parent, name }) => `${parent.typeName}/${name}`).sort(),
    }),
  );
  const files = new Set(services.map(({ file }) => file));
  const ofResources = [...files].flatMap(({ messages: all }) => all.flatMap(eventTypesOfResource));
  return [...ofMethods, ...ofResources].sort((a, b) => (a.type < b.type ? -1 : 1));
}

function eventTypesOfResource(resource: DescMessage): EventType[] {
  if (!hasOption(resource, resource_events)) return [];
  const { created, updated, fixed, deleted } = getOption(resource, resource_events);
  return [created, updated, fixed, deleted].map((type) =>
    create(EventTypeSchema, {
      type,
      bodyTypes: [resource.typeName],
      extensions: ["group"],
      audience: "customer",
    }),
  );
}

/** The message that the body of a method's event is: the response, or the request of a deletion. */
function bodyTypeOf(method: DescMethod): string {
  return (standardMethodOf(method)?.verb === "Delete" ? method.input : method.output).typeName;
}

/** `platform.iam.v2` for `platform.iam.v1`; "" for any other version. */
function successor(name: string): string {
  return /\.v1(?=\.|$)/.test(name) ? name.replace(/\.v1(?=\.|$)/, ".v2") : "";
}
