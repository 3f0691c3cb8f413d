/** The value rules of the contract, checked while somebody types. */
import { type DescField, type DescMessage, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { pathToString } from "@bufbuild/protobuf/reflect";
import type { Validator } from "@bufbuild/protovalidate";
import { useEffect, useState } from "react";
import { behaves, FieldBehavior, useContract } from "../contract.ts";
import { isEmpty } from "../value.tsx";
import type { Problems } from "./message-fields.tsx";

let validator: Promise<Validator> | undefined;

/** The library is a chunk of its own. */
function loadValidator(): Promise<Validator> {
  validator ??= import("@bufbuild/protovalidate").then(({ createValidator }) => createValidator());
  return validator;
}

/** The rules that a message in JSON violates, by the paths of fields. Empty until they have been checked. */
export function useRules(schema: DescMessage, value: JsonObject): Problems {
  const { registry } = useContract();
  const [problems, setProblems] = useState<Problems>(new Map());
  useEffect(() => {
    let isCurrent = true;
    void loadValidator().then((loaded) => {
      if (!isCurrent) return;
      const message = fromJson(schema, value, { registry, ignoreUnknownFields: true });
      const { kind, violations } = loaded.validate(schema, message);
      if (kind !== "error") setProblems(new Map(violations?.map((it) => [pathToString(it.field), it.message])));
    });
    return () => {
      isCurrent = false;
    };
  }, [registry, schema, value]);
  return problems;
}

/** The fields that must be set and are not. */
export function missingFields(fields: readonly DescField[], value: JsonObject): Problems {
  const missing = fields.filter(
    (field) =>
      behaves(field, FieldBehavior.REQUIRED) &&
      !behaves(field, FieldBehavior.OUTPUT_ONLY) &&
      isEmpty(value[field.jsonName]),
  );
  return new Map(missing.map(({ name }) => [name, "is required"]));
}
