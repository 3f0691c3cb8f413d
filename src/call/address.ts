/** The address that a call came from. It is looked up only when somebody asks, since few calls are recorded. */
import { type ContextKey, type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";

type AddressSource = () => string | undefined;

const key: ContextKey<AddressSource | undefined> = createContextKey<AddressSource | undefined>(undefined);

/** The first values of a call. `source` gives the address of its client. */
export function valuesWithAddress(source: AddressSource): ContextValues {
  return createContextValues().set(key, source);
}

/** The IP address of the client of a call; "" if it has none or has gone. */
export function clientAddressOf(values: ContextValues): string {
  return values.get(key)?.() ?? "";
}
