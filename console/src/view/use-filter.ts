import { getRouteApi } from "@tanstack/react-router";

const route = getRouteApi("/view/$resource/$");

/** What a tab filters by, by the fields of its request. */
type Filter = Readonly<Record<string, string>>;

/** The filter of the open tab, which is in the address, and a function that changes some of its fields. */
export function useFilter(): [Filter, (changes: Readonly<Record<string, string | undefined>>) => void] {
  const { filter = {}, ...rest } = route.useSearch();
  const navigate = route.useNavigate();
  return [
    filter,
    (changes) => {
      const fields = Object.entries({ ...filter, ...changes }).flatMap(([name, value]) =>
        value ? [[name, value] as const] : [],
      );
      const search = { ...rest, ...(fields.length > 0 && { filter: Object.fromEntries(fields) }) };
      void navigate({ to: ".", search });
    },
  ];
}
