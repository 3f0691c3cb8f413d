/**
 * What one tenant's expensive calls cost another: the Get of a neighbour, alone and beside 64 connections of each of
 * the dear calls. The tenant is the organisation of the other rows; the neighbour is an organisation of its own.
 */
import { Agent } from "node:http";
import { type Load, statusOf, timesOf } from "./latency.ts";
import { startExpensiveLoad } from "./processes.ts";
import { type Program, runCommand } from "./program.ts";
import { percentile, printFigure, round2 } from "./table.ts";

const connections = 64;
const depth = 50;
const many = 200;
const rounds = 5;
const seconds = 4;
const getEveryMs = 10;
const settleMs = 1000;

// biome-ignore lint/suspicious/noExplicitAny: answers are read by their field names
type Json = any;

/** Two organisations, and the dear calls about the first. */
export interface Neighbours {
  /** Whose Get is measured. */
  readonly get: Load;
  readonly dear: readonly (Load & { readonly name: string })[];
}

/** An organisation of its own, and the Get of a repo in it. */
export async function makeNeighbour({ port, token }: Program, database: string): Promise<Load> {
  const { call, ownerOf } = await callerOf({ port, token }, database);
  const neighbour = (await call("POST", "/iam/v2/groups", { name: "neighbour" })).uid;
  const repo = (await call("POST", `/registry/v2/repos/${neighbour}`, { name: "repo" })).uid;
  return { port, path: `/registry/v2/repos/${repo}`, token: await ownerOf(neighbour) };
}

/** Calls of the first identity, and identities that it makes. */
async function callerOf({ port, token: first }: Pick<Program, "port" | "token">, database: string) {
  const call = async (method: string, path: string, body?: object, token = first): Promise<Json> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text || "{}");
  };
  const { roles } = await call("GET", "/iam/v2/roles?page_size=200");
  const roleNamed = (wanted: string) => roles.find(({ name }: { name: string }) => name === wanted).uid as string;
  const identityIn = async (group: string) => {
    const claimMatch = { issuer: "https://issuer.example", subject: `subject-${made++}` };
    return (await call("POST", `/iam/v2/identities/${group}`, { name: claimMatch.subject, claimMatch })).uid as string;
  };
  const bind = (group: string, identityUid: string, role: string) =>
    call("POST", `/iam/v2/roleBindings/${group}`, { identityUid, roleUid: roleNamed(role) });
  const ownerOf = async (group: string) => {
    const identity = await identityIn(group);
    await bind(group, identity, "owner");
    return runCommand(["token", "--database", database, "--identity", identity]).trim();
  };
  return { call, roleNamed, identityIn, bind, ownerOf };
}

let made = 0;

/** Makes what the dear calls read, in the organisation `root`. It has many groups and repos already. */
export async function makeNeighbours(program: Program, database: string, root: string): Promise<Neighbours> {
  const get = await makeNeighbour(program, database);
  const { call, roleNamed, identityIn, bind, ownerOf } = await callerOf(program, database);
  const token = await ownerOf(root);
  const viewer = await identityIn(root);
  let deep = root;
  for (let i = 0; i < depth - 1; i++) {
    deep = (await call("POST", `/iam/v2/groups/${deep}`, { name: `level-${i}` })).uid;
    await bind(deep, viewer, "viewer");
  }
  for (let i = 0; i < 2 * many; i++) await call("POST", `/registry/v2/repos/${deep}`, { name: `repo-${i}` });
  for (let i = 0; i < many; i++) await bind(deep, await identityIn(root), "viewer");
  const provider = (
    await call("POST", `/iam/v2/identityProviders/${root}`, {
      name: "directory",
      defaultRole: roleNamed("viewer"),
      oidc: { issuer: "https://directory.example", clientId: "client", clientSecret: "client-secret-of-directory" },
    })
  ).uid;
  const scim = await call("POST", `/iam/v1/identityProviders/${provider}:generateScimToken`, {});
  await call("POST", `/iam/v1/identityProviders/${provider}:setScimEnabled`, { enabled: true, etag: scim.etag });
  for (let i = 0; i < many; i++)
    await call("POST", "/scim/v2/Users", { userName: `user-${i}@example.com` }, scim.token);

  const filter = encodeURIComponent('emails.value co "nobody" and not (userName sw "x")');
  const dear = [
    ["Explain, 50 levels", `/access/v1/grants/${deep}:explain?identity=${viewer}&capability=CAP_REPO_DELETE`],
    [`ListAccess of ${many}`, `/access/v1/grants/${deep}?page_size=${many}`],
    ["groups by name, skip", "/iam/v2/groups?order_by=name&skip=5000&page_size=50"],
    [`${many} role bindings`, `/iam/v2/roleBindings?uidp.children_of=${deep}&page_size=${many}`],
    ["search in a deep scope", `/search/v1/names?prefix=r&scope=${deep}`],
    ["audit, no match", `/audit/v1/records/${root}?method=Nothing`],
    ["v1 groups, whole", "/iam/v1/groups"],
    ["SCIM filter", `/scim/v2/Users?filter=${filter}&count=200`, scim.token],
  ].map(([name, path, own]) => ({ name: name!, port: program.port, path: path!, token: own ?? token }));
  for (const load of dear) {
    const status = await statusOf(load, false);
    if (status !== 200) throw new Error(`${load.name} was answered ${status}`);
  }
  return { get, dear };
}

/** Measures and prints a row for each of the dear calls. */
export async function besideTenant({ get, dear }: Neighbours): Promise<void> {
  await getTimes(get);
  for (const load of dear) {
    const pairs: { alone: number; beside: number; median: number }[] = [];
    let refused = 0;
    let served = 0;
    for (let i = 0; i < rounds; i++) {
      const alone = await getTimes(get);
      const stop = startExpensiveLoad("loop", load, connections);
      await new Promise((resolve) => setTimeout(resolve, settleMs));
      const beside = await getTimes(get);
      served += (await stop()).served;
      await new Promise((resolve) => setTimeout(resolve, settleMs));
      refused += alone.refused + beside.refused;
      pairs.push({
        alone: percentile(alone.ms, 0.99),
        beside: percentile(beside.ms, 0.99),
        median: percentile(beside.ms, 0.5) / percentile(alone.ms, 0.5),
      });
    }
    pairs.sort((a, b) => a.beside / a.alone - b.beside / b.alone);
    const { alone, beside, median } = pairs[Math.floor(rounds / 2)]!;
    const all = pairs.map((pair) => round2(pair.beside / pair.alone)).join(" ");
    const detail = `${round2(beside)} ms, alone ${round2(alone)} ms; p50 ${round2(median)}; rounds ${all}; ${refused} refused; ${served} of the dear calls served`;
    printFigure(`neighbour p99 beside ${load.name}/alone`, round2(beside / alone), "≤3, ≤2; 0 refused", detail);
  }
}

async function getTimes(get: Load): Promise<{ readonly ms: number[]; readonly refused: number }> {
  const agent = new Agent({ keepAlive: true });
  const times = await timesOf(seconds, getEveryMs, () => statusOf(get, agent));
  agent.destroy();
  return times;
}
