import { Button, Select, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { useContract } from "../contract.ts";
import { ReferenceInput } from "../form/reference-input.tsx";
import { SuggestedInput } from "../form/suggested-input.tsx";
import { localTime } from "../time.tsx";
import { useFilter } from "../view/use-filter.ts";

/** How calls end, by the names of the codes of errors. */
const results = [
  "OK",
  "PERMISSION_DENIED",
  "UNAUTHENTICATED",
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "FAILED_PRECONDITION",
  "ABORTED",
  "RESOURCE_EXHAUSTED",
  "UNAVAILABLE",
  "INTERNAL",
];

/** Which records are shown. It is in the address, by the names of the fields of the request. */
export function AuditFilters() {
  const [filter, change] = useFilter();
  const methodNames = useMethodNames();
  const { caller = "", result = null, startTime, endTime } = filter;
  return (
    <section aria-label="Filters" className="inputs">
      <ReferenceInput
        label="Caller"
        type="iam.platform.internal/Identity"
        value={caller}
        onChange={(uid) => change({ caller: uid ?? undefined })}
      />
      <SuggestedInput
        key={filter.method}
        label="Method"
        placeholder="CreateRoleBinding"
        suggestions={methodNames}
        value={filter.method ?? ""}
        choose={(method) => change({ method })}
      />
      <Select
        label="Result"
        placeholder="Any"
        searchable
        clearable
        clearButtonProps={{ "aria-label": "Clear Result" }}
        data={result === null || results.includes(result) ? results : [result, ...results]}
        value={result}
        onChange={(code) => change({ result: code ?? undefined })}
      />
      <TimeInput label="From" time={startTime} choose={(time) => change({ startTime: time })} />
      <TimeInput label="Until" time={endTime} choose={(time) => change({ endTime: time })} />
      {Object.keys(filter).length > 0 && (
        <Button
          variant="default"
          onClick={() => change(Object.fromEntries(Object.keys(filter).map((name) => [name, undefined])))}
        >
          Clear filters
        </Button>
      )}
    </section>
  );
}

/** Those of the contract: what is recorded beside its calls has names of its own. */
function useMethodNames(): readonly string[] {
  const { registry } = useContract();
  return useMemo(() => {
    const services = [...registry].filter((type) => type.kind === "service");
    return [...new Set(services.flatMap(({ methods }) => methods.map(({ name }) => name)))].sort();
  }, [registry]);
}

interface TimeInputProps {
  readonly label: string;
  readonly time: string | undefined;
  choose(time: string | undefined): void;
}

function TimeInput({ label, time, choose }: TimeInputProps) {
  const isTime = time !== undefined && !Number.isNaN(Date.parse(time));
  return (
    <TextInput
      label={label}
      type="datetime-local"
      value={isTime ? localTime(time) : ""}
      onChange={({ currentTarget: { value } }) => choose(value === "" ? undefined : new Date(value).toISOString())}
    />
  );
}
