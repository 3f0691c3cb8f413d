// server measurement: 10,000 events to 10 sinks; sinks in another process
import { fork } from "node:child_process";
import { rmSync } from "node:fs";
import { pino } from "pino";
import { readConfig } from "/work/main/src/config.ts";
import { startServer } from "/work/main/src/server/index.ts";
rmSync("/tmp/loaddb", { recursive: true, force: true });
const child = fork("/tmp/sinks.mjs", { execArgv: [] });
const port: number = await new Promise((r) => child.once("message", (m) => r(m as number)));
const config = { ...readConfig({ flags: { listen: "127.0.0.1:0", database: process.env.DB ?? "sqlite:/tmp/loaddb/p.db", logLevel: "warn", allowLoopbackSinks: "true" }, env: {}, warn: () => {} }) };
const server = await startServer(config, pino({ level: "warn" }));
const root = server.installed!.rootGroupUid;
const token = await server.mintToken(server.installed!.administratorUid, 36000);
const call = async (method: string, path: string, body?: unknown) => {
  const r = await fetch(server.baseUrl + path, { method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body) } as RequestInit);
  const t = await r.text();
  if (!r.ok) throw new Error(`${r.status} ${t}`);
  return t ? JSON.parse(t) : undefined;
};
const pct = (a: number[], p: number) => a.sort((x, y) => x - y)[Math.floor(a.length * p)]!.toFixed(2);
async function probe(ms: number | (() => boolean), kind: "get" | "post") {
  const times: number[] = []; const end = typeof ms === "number" ? performance.now() + ms : 0;
  while (typeof ms === "number" ? performance.now() < end : ms()) {
    const t = performance.now();
    if (kind === "get") await call("GET", `/iam/v2/groups/${root}`); else await call("POST", `/iam/v2/groups/${root}`, { name: "probe" });
    times.push(performance.now() - t);
    await new Promise((r) => setTimeout(r, 5));
  }
  return `n=${times.length} p50=${pct(times, .5)} p99=${pct(times, .99)} max=${pct(times, .9999)}`;
}
await probe(2000, "get");
console.log("idle get ", await probe(5000, "get"));
console.log("idle post", await probe(5000, "post"));
for (let i = 0; i < 10; i++) await call("POST", `/events/v2/subscriptions/${root}`, { sink: `http://127.0.0.1:${port}/${i}` });
import { StatementSync, DatabaseSync } from "node:sqlite";
const slow = new Map<string, number[]>();
function note(name: string, ms: number) { const k = name.replace(/\s+/g, " ").slice(0, 70); const a = slow.get(k) ?? []; a.push(ms); slow.set(k, a); }
for (const m of ["all", "run"] as const) { const o = StatementSync.prototype[m] as any; (StatementSync.prototype as any)[m] = function (...a: any[]) { const t = performance.now(); try { return o.apply(this, a); } finally { note((this as any).sourceSQL, performance.now() - t); } }; }
const oe = DatabaseSync.prototype.exec; DatabaseSync.prototype.exec = function (q: string) { const t = performance.now(); try { return oe.call(this, q); } finally { note(q, performance.now() - t); } };
import { monitorEventLoopDelay } from "node:perf_hooks";
const eld = monitorEventLoopDelay({ resolution: 1 }); eld.enable();
const start = performance.now();
let created = 0;
const N = Number(process.env.N ?? 10000);
let counts = { total: 0, unique: 0 };
child.on("message", (m) => { counts = m as typeof counts; });
let done = false;
const probing = Promise.all([probe(() => !done, "get"), process.env.POST ? probe(() => !done, "post") : ""]);
await Promise.all(Array.from({ length: 8 }, async () => { while (created < N) { created++; await call("POST", `/iam/v2/groups/${root}`, { name: "event" }); } }));
const phase1 = await (async () => { done = true; const r = await probing; done = false; return r; })(); console.log("creating", phase1, "eld p99", eld.percentile(99) / 1e6, "max", eld.max / 1e6); eld.reset();
const probing2 = Promise.all([probe(() => !done, "get"), process.env.POST ? probe(() => !done, "post") : ""]);
console.log("created", N, ((performance.now() - start) / 1000).toFixed(1), "s; delivered by then", counts.total);
const want = N * 10;
while (counts.total < want && performance.now() - start < 200_000) await new Promise((r) => setTimeout(r, 100));
done = true;
console.log("delivered", counts, ((performance.now() - start) / 1000).toFixed(1), "s");
console.log("loaded", await probing2, "eld p99", eld.percentile(99) / 1e6, "max", eld.max / 1e6, "rss", Math.round(process.memoryUsage().rss / 1e6));
for (const [k, a] of [...slow].sort((x, y) => y[1].reduce((p, c) => p + c, 0) - x[1].reduce((p, c) => p + c, 0)).slice(0, 14)) console.log(String(a.length).padStart(7), "sum", a.reduce((p, c) => p + c, 0).toFixed(0).padStart(7), "p99", a.sort((x, y) => x - y)[Math.floor(a.length * .99)]!.toFixed(2).padStart(7), "max", a.at(-1)!.toFixed(1).padStart(6), k);
child.kill();
await server.stop();
