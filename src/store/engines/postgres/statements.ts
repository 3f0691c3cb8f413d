/** Sends statements on connections of pg. */
import type { Socket } from "node:net";
import pg from "pg";
import { parametersOf, type Statement, type Values } from "../../sql/statement.ts";
import { internalsOf } from "./client-internals.ts";
import { translated } from "./errors.ts";

/** How many statements get a name, which the server keeps prepared. Further ones are sent unnamed. */
const maxNamedStatements = 1000;

const int8 = 20;
const bytea = 17;
const parsers: Record<number, (text: string) => unknown> = {
  [int8]: Number,
  [bytea]: (text) => {
    const { buffer, byteOffset, byteLength } = Buffer.from(text.slice(2), "hex");
    return new Uint8Array(buffer, byteOffset, byteLength);
  },
};

/** How pg reads values: integers as numbers, bytes as Uint8Array. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => parsers[oid] ?? pg.types.getTypeParser(oid, format),
};

/** The names of prepared statements, the same on all connections. */
export class StatementNames {
  readonly #names = new Map<string, string>();

  /** The name of a statement; undefined for one that gets none. */
  of(text: string): string | undefined {
    let name = this.#names.get(text);
    if (name === undefined && this.#names.size < maxNamedStatements) {
      name = `s${this.#names.size}`;
      this.#names.set(text, name);
    }
    return name;
  }
}

/** What sending a statement needs. */
export interface Sending {
  /** Absent where prepared statements do not outlive a transaction. */
  readonly names: StatementNames | undefined;
  /** Called when the server has answered a statement. */
  answered(): void;
}

/** Sends a statement. The connection need not have answered those before it. */
export async function send(
  sending: Sending,
  client: pg.ClientBase,
  statement: Statement,
  values: Values,
): Promise<pg.QueryArrayResult<unknown[]>> {
  const { text } = statement;
  const name = sending.names?.of(text);
  gather(client);
  try {
    const result = await client.query<unknown[]>({
      ...(name !== undefined && { name }),
      text,
      values: parametersOf(statement, values),
      rowMode: "array",
    });
    sending.answered();
    return result;
  } catch (error) {
    throw translated(error);
  }
}

const gathering = new WeakSet<pg.ClientBase>();

/** Sends the statements of one iteration of the event loop as one piece. */
export function gather(client: pg.ClientBase): void {
  if (gathering.has(client)) return;
  gathering.add(client);
  const stream = streamOf(client);
  stream.cork();
  setImmediate(() => {
    gathering.delete(client);
    stream.uncork();
  });
}

function streamOf(client: pg.ClientBase): Socket {
  return internalsOf(client).connection.stream;
}

/** Closes the socket of a connection. Statements that wait on it fail. */
export function closeSocket(client: pg.ClientBase): void {
  streamOf(client).destroy();
}
