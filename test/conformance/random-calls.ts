/**
 * Clients that make random changes, each in a group of its own. They work with what they were answered; what was cut
 * off they forget, whatever became of it. Every call that succeeds changes something.
 */
import { randomBytes, randomInt } from "node:crypto";
import type { Json } from "./contract.ts";
import { claimMatch, digestOf, freshName } from "./fixtures.ts";

/** Makes a call; undefined when it was cut off. Errors: it was refused. */
export type Send = (method: string, request: Json) => Promise<Json | undefined>;

/** What one client knows to be there. */
class Client {
  readonly #send: Send;
  readonly #group: string;
  readonly #uids = new Map<string, string[]>();

  constructor(send: Send, group: string) {
    this.#send = send;
    this.#group = group;
  }

  readonly actions: readonly (() => Promise<unknown>)[] = [
    () => this.#create("Group", { description: "" }),
    () => this.#update("Group"),
    () => this.#delete("Group"),
    () => this.#create("Repo", { description: "" }),
    () => this.#create("Repo", { description: "" }),
    () => this.#update("Repo"),
    () => this.#delete("Repo", { force: true }),
    () => this.#create("Role", { capabilities: ["CAP_REPO_LIST"] }),
    () => this.#update("Role"),
    () => this.#delete("Role"),
    () => this.#create("Identity", { claimMatch: claimMatch() }),
    () => this.#update("Identity"),
    () => this.#delete("Identity"),
    ...Array<() => Promise<unknown>>(6).fill(() => this.#tag()),
    () => this.#readme(),
  ];

  async #create(kind: string, fields: object): Promise<unknown> {
    const resource = { name: freshName(), ...fields };
    const answer = await this.#send(`Create${kind}`, { parent: this.#group, [kind.toLowerCase()]: resource });
    if (answer !== undefined) this.#uids.set(kind, [...this.#of(kind), answer.uid]);
    return answer;
  }

  async #update(kind: string): Promise<unknown> {
    const uid = this.#any(kind);
    if (uid === undefined) return this.#create("Repo", {});
    return this.#send(`Update${kind}`, { [kind.toLowerCase()]: { uid, description: randomBytes(8).toString("hex") } });
  }

  async #delete(kind: string, more: object = {}): Promise<unknown> {
    const uid = this.#any(kind);
    if (uid === undefined) return this.#create("Repo", {});
    this.#uids.set(
      kind,
      this.#of(kind).filter((other) => other !== uid),
    );
    return this.#send(`Delete${kind}`, { uid, ...more });
  }

  /** Makes a tag, or moves one: there are few names. */
  async #tag(): Promise<unknown> {
    const parent = this.#any("Repo");
    if (parent === undefined) return this.#create("Repo", {});
    const tag = { name: `t${randomInt(4)}`, digest: digestOf(randomInt(2 ** 40)) };
    return this.#send("CreateTag", { parent, tag });
  }

  async #readme(): Promise<unknown> {
    const uid = this.#any("Repo");
    if (uid === undefined) return this.#create("Repo", {});
    return this.#send("UpdateRepoReadme", { repoReadme: { uid, content: randomBytes(8).toString("hex") } });
  }

  #of(kind: string): readonly string[] {
    return this.#uids.get(kind) ?? [];
  }

  #any(kind: string): string | undefined {
    const uids = this.#of(kind);
    return uids.length === 0 ? undefined : uids[randomInt(uids.length)];
  }
}

/** Has `clients` make `calls` calls in all, below `root`. `progress` is told how many have been made. */
export async function makeRandomCalls(
  root: string,
  { calls, clients }: { calls: number; clients: number },
  send: Send,
  progress: (made: number) => void,
): Promise<void> {
  let made = 0;
  const counting: Send = (method, request) => {
    progress(++made);
    return send(method, request);
  };
  await Promise.all(
    Array.from({ length: clients }, async () => {
      let group: Json;
      while (group === undefined)
        group = await counting("CreateGroup", { parent: root, group: { name: freshName("client") } });
      const { actions } = new Client(counting, group.uid);
      while (made < calls) await actions[randomInt(actions.length)]!();
    }),
  );
}
