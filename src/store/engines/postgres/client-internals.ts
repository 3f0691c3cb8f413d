/** What a client of pg knows of its connection, which its types do not say. */
import type { Socket } from "node:net";
import type pg from "pg";

interface ClientInternals {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly ssl: boolean | object;
  readonly host: string;
  readonly port: number;
  readonly connection: { readonly stream: Socket };
}

export function internalsOf(client: pg.ClientBase): ClientInternals {
  return client as unknown as ClientInternals;
}
