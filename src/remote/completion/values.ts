/** What the words of a command line may be: from the contract, and from the server. */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import { CommandFailure } from "../../command/index.ts";
import { commentOf } from "../catalog/comments.ts";
import { contractCatalog, findListed, findResource, findType, isImage, namesImage } from "../catalog/contract.ts";
import { contractServices } from "../catalog/descriptors.ts";
import { shortNames } from "../catalog/enums.ts";
import { FieldFlag, findField } from "../catalog/flags.ts";
import { commandName, type ListedKind, parentType, type ResourceEntry, uidType } from "../catalog/resources.ts";
import type { Candidate, ValuePlace } from "./place.ts";
import { candidatesOnServer, tagsOnServer } from "./server.ts";

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
      return kindsOf(command.name() === "list" ? "List" : "Get").flatMap(({ singular, plural }) =>
        plainCandidates([...new Set([singular, plural])]),
      );
    case "UID|NAME": {
      if (command.name() === "get" && isImage(findListed(operands[0] ?? "")?.schema)) return imageCandidates(place);
      const resource = resourceOfPlace(place);
      return resource === undefined ? [] : candidatesOnServer(resource, place);
    }
    case "BASE":
    case "TARGET":
    case "REPO:TAG|REPO@DIGEST":
      return imageCandidates(place);
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
          ? findListed(operands[0] ?? "")?.methods.List
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

function kindsOf(verb: "Get" | "List"): readonly ListedKind[] {
  const { resources, views } = contractCatalog();
  return [...resources, ...views].filter(({ methods }) => methods[verb] !== undefined);
}

/** `customer,` before the last value of a list, and the values that a field takes. */
async function fieldCandidates(field: DescField, place: ValuePlace): Promise<Candidate[]> {
  if (field.enum !== undefined) {
    const before = field.fieldKind === "list" ? place.word.slice(0, place.word.lastIndexOf(",") + 1) : "";
    return plainCandidates(shortNames(field.enum).map((name) => before + name));
  }
  if (namesImage(field)) return imageCandidates(place);
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

/** `library/nginx:`; behind a repo its tags. Without a repo, the one of the image before it is meant. */
async function imageCandidates(place: ValuePlace): Promise<Candidate[]> {
  const [, given] = /^(.*):[^/]*$/.exec(place.word) ?? [];
  if (given === undefined) {
    const repos = await candidatesOnServer(findResource("repo")!, place);
    return repos.map(({ value, description }) => ({ value: value.replace(/[^/]$/, "$&:"), description }));
  }
  const repo = given || (/^(.+)[:@]/.exec(place.operands[0] ?? "")?.[1] ?? "");
  const tags = await tagsOnServer(findResource("tag")!, repo, place);
  return tags.map(({ value, description }) => ({ value: `${given}:${value}`, description }));
}

/** Parents are groups where they may be of any type. */
function resourceOfType(type: string | undefined): ResourceEntry | undefined {
  return type === undefined || type === "" ? findResource("group") : findType(type);
}

function lineOf(comment: string): string {
  return comment.split(/\.\s|\n/)[0]!;
}
