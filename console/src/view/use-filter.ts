import { getRouteApi } from "@tanstack/react-router";

const route = getRouteApi("/view/$resource/$");

/** The filter of the open tab, which is in the address, and a function that changes some of its fields. */
export function useFilter(): [Readonly<Record<string, string>>, (changes: Record<string, string | undefined>) => void] {
  const { tab, filter = {} } = route.useSearch();
  const navigate = route.useNavigate();
  return [
    filter,
    (changes) => {
      const next = Object.entries({ ...filter, ...changes }).filter(([, value]) => value !== undefined && value !== "");
      void navigate({
        to: ".",
        search: { ...(tab !== undefined && { tab }), filter: Object.fromEntries(next) as Record<string, string> },
      });
    },
  ];
}
