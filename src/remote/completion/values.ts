/** What the words of a command line may be: from the contract, and from the server. */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import { CommandFailure } from "../../command/index.ts";
import { commentOf } from "../catalog/comments.ts";
import { contractCatalog, findResource, findType } from "../catalog/contract.ts";
import { contractServices } from "../catalog/descriptors.ts";
import { shortNames } from "../catalog/enums.ts";
import { FieldFlag, findField } from "../catalog/flags.ts";
import { commandName, parentType, type ResourceEntry, uidType } from "../catalog/resources.ts";
import type { Candidate, ValuePlace } from "./place.ts";
import { candidatesOnServer } from "./server.ts";

/** The services with custom methods, which are commands. */
export function serviceCandidates(others: ReadonlySet<string>): Candidate[] {
  return contractCatalog()
    .services.filter(({ customMethods }) => customMethods.size > 0)
    .map((entry) => ({
      value: commandName(entry, others),
      description: [...entry.customMethods.keys()].join(", "),
    }));
}

/** The values of a parameter, whatever is there of the word; none where they are not known. */
export async function valueCandidates(place: ValuePlace): Promise<Candidate[]> {
  const { command, parameter, operands, word } = place;
  if (parameter instanceof FieldFlag) return fieldCandidates(parameter.field, place);
  switch (place.placeholder) {
    case "RESOURCE":
    case "RESOURCES":
      return contractCatalog()
        .resources.filter(({ methods }) => (command.name() === "list" ? methods.List : methods.Get) !== undefined)
        .flatMap(({ singular, plural }) => plainCandidates([singular, plural]));
    case "UID|NAME": {
      const resource = resourceOfPlace(place);
      return resource === undefined ? [] : candidatesOnServer(resource, place);
    }
    case "FIELD":
      return schemaCandidates(resourceOfCommand(place)?.schema);
    case "SERVICE/METHOD":
      return contractServices().flatMap(({ typeName, methods }) =>
        methods
          .filter(({ methodKind }) => methodKind === "unary")
          .map((method) => ({ value: `${typeName}/${method.name}`, description: lineOf(commentOf(method)) })),
      );
    case "NAME=VALUE": {
      const method =
        command.name() === "list"
          ? resourceOfCommand(place)?.methods.List
          : contractServices()
              .flatMap(({ methods }) => methods)
              .find(({ parent, name }) => `${parent.typeName}/${name}` === operands[0]);
      return pairCandidates(method?.input, word, place);
    }
    case "CONDITION": {
      const fields = await pairCandidates(resourceOfCommand(place)?.schema, word, place);
      return /[.=]/.test(word) ? fields : [...plainCandidates(["exists", "deleted"]), ...fields];
    }
    default:
      return [];
  }
}

/** `customer,` before the last value of a list, and the values that a field takes. */
async function fieldCandidates(field: DescField, place: ValuePlace): Promise<Candidate[]> {
  if (field.enum !== undefined) {
    const before = field.fieldKind === "list" ? place.word.slice(0, place.word.lastIndexOf(",") + 1) : "";
    return plainCandidates(shortNames(field.enum).map((name) => before + name));
  }
  if (field.scalar === ScalarType.BOOL) return plainCandidates(["true", "false"]);
  const { hasUid } = await import("../documents/spec.ts");
  const resource = hasUid(field) ? resourceOfType(getOption(field, resource_reference).type) : undefined;
  return resource === undefined ? [] : candidatesOnServer(resource, place);
}

/** `name=`, `sync_config.`; after `=` the values of the field. */
async function pairCandidates(schema: DescMessage | undefined, word: string, place: ValuePlace): Promise<Candidate[]> {
  const at = word.indexOf("=");
  const end = at < 0 ? word.lastIndexOf(".") : at;
  const before = word.slice(0, end + 1);
  if (schema === undefined) return [];
  try {
    const field = end < 0 ? undefined : findField(schema, word.slice(0, end), "").field;
    const found =
      field !== undefined && at >= 0
        ? await fieldCandidates(field, { ...place, word: word.slice(at + 1) })
        : schemaCandidates(field === undefined ? schema : field.message).map(({ value, description }) => {
            const { message } = findField(schema, `${before}${value}`, "").field;
            return { value: `${value}${message?.typeName.startsWith("platform.") ? "." : "="}`, description };
          });
    return found.map(({ value, description }) => ({ value: before + value, description }));
  } catch (error) {
    if (error instanceof CommandFailure) return []; // there is no such field
    throw error;
  }
}

function schemaCandidates(schema: DescMessage | undefined): Candidate[] {
  return (schema?.fields ?? []).map((field) => ({ value: field.name, description: lineOf(commentOf(field)) }));
}

function plainCandidates(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value, description: "" }));
}

/** The resource that a uid or name is of. */
function resourceOfPlace(place: ValuePlace): ResourceEntry | undefined {
  const own = resourceOfCommand(place);
  if (!("long" in place.parameter)) return own && resourceOfType(uidType(own));
  return resourceOfType(place.parameter.long === "--parent" && own !== undefined ? parentType(own) : undefined);
}

/** The resource that a command is about: `role` in `get role` and in `update role`. */
function resourceOfCommand({ command, operands }: ValuePlace): ResourceEntry | undefined {
  return findResource(operands[0] ?? "") ?? findResource(command.name());
}

/** Parents are groups where they may be of any type. */
function resourceOfType(type: string | undefined): ResourceEntry | undefined {
  return type === undefined || type === "" ? findResource("group") : findType(type);
}

function lineOf(comment: string): string {
  return comment.split(/\.\s|\n/)[0]!;
}
