/** Typed clients of the services of a server. */
import type {
  DescMessage,
  DescMethod,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { type CallOptions, createClient, type Transport } from "@connectrpc/connect";
import * as contract from "../../gen/client.ts";
import { type List, listOf, type Page, type PageRequest } from "./list.ts";
import { methodName } from "./method-name.ts";
import { createPlatformTransport, type TransportOptions } from "./transport.ts";

/**
 * A client of every service of version 2: `client.roles`, `client.groupInvites`. An interface, so that declarations of
 * programs name it, and not the files of the contract.
 */
export interface PlatformClient extends ServiceClients<typeof contract> {}

/** The clients of services that are given by their names: `repos` for `ReposService`. */
export type ServiceClients<Services> = {
  readonly [Name in keyof Services as Services[Name] extends DescService
    ? ClientName<Name & string>
    : never]: Services[Name] extends DescService ? ServiceClient<Services[Name], PluralOf<Name & string>> : never;
};

/** The methods of a service: `list` for ListRoles of the service of `Roles`. */
export type ServiceClient<Service extends DescService, Plural extends string> = {
  readonly [Name in keyof Service["method"] & string as MethodName<Name, Plural>]: Method<Service["method"][Name]>;
};

/** A method. A request that has a `uid` may be that uid alone. */
export type Method<Desc> =
  Desc extends DescMethodUnary<infer Input, infer Output>
    ? "nextPageToken" extends keyof MessageShape<Output>
      ? (
          request?: MessageInitShape<Input>,
          options?: CallOptions,
        ) => List<ItemOf<MessageShape<Output>>, MessageShape<Output>>
      : (request: RequestOf<Input>, options?: CallOptions) => Promise<MessageShape<Output>>
    : never;

type RequestOf<Input extends DescMessage> =
  | MessageInitShape<Input>
  | ("uid" extends keyof MessageShape<Input> ? string : never);

/** The messages of a page. */
type ItemOf<PageOfItems> = {
  [Field in keyof PageOfItems]-?: PageOfItems[Field] extends readonly (infer Item extends Message)[] ? Item : never;
}[keyof PageOfItems];

type PluralOf<ServiceName extends string> = ServiceName extends `${infer Plural}Service` ? Plural : ServiceName;
type SingularOf<Plural extends string> = Plural extends `${infer Stem}ies`
  ? `${Stem}y`
  : Plural extends `${infer Stem}s`
    ? Stem
    : Plural;
type ClientName<ServiceName extends string> = Uncapitalize<PluralOf<ServiceName>>;
/** See {@link methodName}. */
type MethodName<Name extends string, Plural extends string> = Name extends `${infer Before}${Plural}${infer After}`
  ? `${Before}${After}`
  : Name extends `${infer Before}${SingularOf<Plural>}${infer After}`
    ? `${Before}${After}`
    : Name;

/** Clients of all services of a server. They share one transport. */
export function createPlatformClient(options: TransportOptions): PlatformClient {
  return createClientsOf(contract, createPlatformTransport(options));
}

/**
 * Clients of some services of a server: `createClientsOf({ ReposService }, transport).repos`. A bundler leaves out the
 * other services.
 * @param services descriptors by their names; values that are not services are ignored.
 */
export function createClientsOf<const Services extends object>(
  services: Services,
  transport: Transport,
): ServiceClients<Services> {
  const clients = Object.entries(services)
    .filter((entry): entry is [string, DescService] => entry[1].kind === "service")
    .map(([name, service]) => {
      const plural = name.replace(/Service$/, "");
      return [plural[0]!.toLowerCase() + plural.slice(1), serviceClient(service, plural, transport)];
    });
  return Object.fromEntries(clients);
}

type Call = (request: object, options?: CallOptions) => Promise<Page>;

function serviceClient(service: DescService, plural: string, transport: Transport): Record<string, unknown> {
  const calls = createClient(service, transport) as unknown as Record<string, Call>;
  return Object.fromEntries(
    service.methods.map((method) => {
      const call = calls[method.localName]!;
      return [methodName(method.localName, plural), isPaged(method) ? listMethod(method, call) : unaryMethod(call)];
    }),
  );
}

function isPaged({ output }: DescMethod): boolean {
  return output.fields.some(({ name }) => name === "next_page_token");
}

function unaryMethod(call: Call) {
  return (request: object | string, options?: CallOptions) =>
    call(typeof request === "string" ? { uid: request } : request, options);
}

function listMethod({ output }: DescMethod, call: Call) {
  const items = output.fields.find(({ fieldKind, message }) => fieldKind === "list" && message !== undefined)!;
  return (request: PageRequest = {}, options?: CallOptions) =>
    listOf(
      request,
      (pageRequest) => call(pageRequest, options),
      (page) => (page as Record<string, readonly unknown[]>)[items.localName]!,
    );
}
