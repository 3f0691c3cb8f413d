/**
 * The services of v1, carried out by those of v2 on the same data. A table for each resource says what differs; only
 * what has no counterpart in v2 has code of its own.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import { getOption } from "../../annotations.ts";
import type { MountedService } from "../../resource/index.ts";
import { type Handler, Translator, translateMethods } from "../../translation/index.ts";
import { accountAssociationsOfV1 } from "./account-associations.ts";
import { advisoriesOfV1 } from "./advisories.ts";
import { artifactsOfV1 } from "./artifacts.ts";
import { newInV2, renamedFields } from "./common.ts";
import { externalGroupRoleMappingsOfV1 } from "./external-group-role-mappings.ts";
import { groupInvitesOfV1 } from "./group-invites.ts";
import { groupsOfV1 } from "./groups.ts";
import { identitiesOfV1 } from "./identities.ts";
import { identityProvidersOfV1 } from "./identity-providers.ts";
import { registryOfV1 } from "./registry.ts";
import { roleBindingsOfV1 } from "./role-bindings.ts";
import { rolesOfV1 } from "./roles.ts";
import { securityAdvisoryOfV1 } from "./security-advisory.ts";
import { termsOfV1 } from "./terms.ts";
import { vulnerabilitiesOfV1 } from "./vuln-reports.ts";

/** What the services of v1 need. */
interface ServicesOfV1Options {
  /** The services of v2. */
  readonly successors: readonly MountedService[];
  readonly openRootGroups: boolean;
  /** The most items of a list that is answered whole. */
  maxListItems(): number;
  /** Called for every call of v1 that has succeeded. */
  readonly onCall: ((method: DescMethod) => void) | undefined;
}

/** Every service of v1. Errors: a plain Error that lists the fields and values which the tables forget. */
export function createServicesOfV1({
  successors,
  openRootGroups,
  maxListItems,
  onCall,
}: ServicesOfV1Options): readonly MountedService[] {
  const services = [
    advisoriesOfV1,
    groupsOfV1(openRootGroups),
    registryOfV1,
    vulnerabilitiesOfV1(maxListItems),
    accountAssociationsOfV1,
    artifactsOfV1,
    externalGroupRoleMappingsOfV1,
    groupInvitesOfV1,
    identitiesOfV1,
    identityProvidersOfV1,
    roleBindingsOfV1,
    rolesOfV1,
    securityAdvisoryOfV1,
    termsOfV1,
  ];
  const handlers = new Map(
    successors.flatMap(({ service, methods }) =>
      service.methods.map((method): [DescMethod, Handler] => [method, methods[method.localName] as Handler]),
    ),
  );
  const links = new Map<DescMethod, string>();
  const translations = translateMethods({
    translator: new Translator({
      messages: services.flatMap(({ messages = [] }) => messages),
      enums: services.flatMap(({ enums = [] }) => enums),
      fields: renamedFields,
      onlyNewer: newInV2,
    }),
    handlerOf(method) {
      const handler = handlers.get(method);
      if (handler === undefined) throw new Error(`${method.parent.typeName}.${method.name} is not served`);
      return handler;
    },
    maxItems: maxListItems,
    setting: "--v1-max-list-items",
    onSuccess(method, successor, { responseHeader }) {
      onCall?.(method);
      if (successor === undefined) return;
      const link = links.get(successor) ?? `<${pathOf(successor)}>; rel="successor-version"`;
      links.set(successor, link);
      responseHeader.set("link", link);
    },
  });
  return services.map(({ service, methods }): MountedService => {
    const makers = methods(translations);
    const made = service.methods.map((method) => [method.localName, makers[method.localName]!(method)]);
    return { service, methods: Object.fromEntries(made), resources: [] };
  });
}

/** The path of a method up to its first variable: `/iam/v2/groups`. */
function pathOf(method: DescMethod): string {
  const { value } = getOption(method, http).pattern;
  return String(value).split(/\/?\{/)[0]!;
}
