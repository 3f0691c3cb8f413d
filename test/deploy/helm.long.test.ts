/** The chart of deploy/helm: Helm's own checks, and what it renders, by the schemas of Kubernetes. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { loadAll } from "js-yaml";
import { describe, expect, test } from "vitest";
import { repository, temporaryFolder } from "../cli/platform-process.ts";
import { goProgram } from "../go-program.ts";

const chart = join(repository, "deploy/helm/platform-api");
const helm = goProgram("helm.sh/helm/v3/cmd/helm", "v3.22.0");
const validator = join(dirname(process.env.TEST_PYTHON ?? ""), "kubernetes-validate");
if (!existsSync(validator))
  console.warn(
    "skipped, what the chart renders is not checked by Kubernetes' schemas: no kubernetes-validate beside TEST_PYTHON",
  );

/** Values by what they show. */
const variants: Readonly<Record<string, object>> = {
  "the least": { secrets: { database: "postgres://platform@db/platform" } },
  everything: {
    secrets: { existingSecret: "platform" },
    image: { digest: `sha256:${"0".repeat(64)}` },
    config: { baseUrl: "https://platform.example.com", rateLimitAddress: "off" },
    tls: { secretName: "platform-tls" },
    ingress: { enabled: true, className: "nginx", tls: [{ secretName: "t", hosts: ["platform.example.com"] }] },
    httpRoute: { enabled: true, parentRefs: [{ name: "public" }] },
    autoscaling: { enabled: true, callsUnderWay: { enabled: true } },
    networkPolicy: { enabled: true, from: [{ podSelector: {} }], egress: [{ ports: [{ port: 5432 }] }] },
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true, rules: "groups: [{name: more, rules: [{alert: Up, expr: 'up == 1'}]}]" },
    imagePullSecrets: [{ name: "pull" }],
    extraEnv: [{ name: "TZ", value: "UTC" }],
    extraVolumes: [{ name: "terms", emptyDir: {} }],
    extraVolumeMounts: [{ name: "terms", mountPath: "/terms" }],
    podLabels: { team: "a" },
    podAnnotations: { note: "b" },
    nodeSelector: { disk: "fast" },
    tolerations: [{ key: "k", operator: "Exists" }],
    priorityClassName: "high",
  },
  "no migration, budget and account": {
    secrets: { existingSecret: "platform" },
    migrations: { enabled: false },
    podDisruptionBudget: { enabled: false },
    serviceAccount: { create: false },
    fullnameOverride: "platform",
  },
};

describe.skipIf(helm === undefined)("the chart", () => {
  async function run(command: string, values: object, ...args: string[]): Promise<string> {
    const file = join(await temporaryFolder(), "values.json");
    await writeFile(file, JSON.stringify(values));
    return execFileSync(helm!, [command, ...args, chart, "--kube-version", "1.34.0", "--values", file], {
      encoding: "utf8",
      stdio: "pipe",
    });
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect, and fail when it is not there.
  const rendered = async (values: object) => loadAll(await run("template", values, "test")) as any[];

  test.each(Object.entries(variants))("passes helm lint and Kubernetes' schemas, %s", async (_, values) => {
    expect(await run("lint", values, "--strict")).toContain("0 chart(s) failed");
    if (!existsSync(validator)) return;
    const file = join(await temporaryFolder(), "rendered.yaml");
    await writeFile(file, await run("template", values, "test"));
    execFileSync(validator, ["--strict", "--kubernetes-version", "1.34.0", file], { stdio: "pipe" });
  });

  test("refuses values that are wrong", async () => {
    await expect(run("template", {}, "test")).rejects.toThrow("/secrets");
    const secrets = { existingSecret: "platform" };
    await expect(run("template", { secrets, replicas: 3 }, "test")).rejects.toThrow("replicas");
    await expect(run("template", { secrets, config: { secretKey: "x" } }, "test")).rejects.toThrow("secretKey");
  });

  test("makes pods of the restricted profile", async () => {
    for (const values of Object.values(variants)) {
      for (const { kind, spec } of await rendered(values)) {
        const pod = kind === "Pod" ? spec : spec?.template?.spec;
        if (pod === undefined) continue;
        expect(pod).toMatchObject({
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
        });
        for (const { securityContext } of pod.containers)
          expect(securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          });
      }
    }
  });

  test("selects the pods of the server, and no others", async () => {
    const documents = await rendered(variants.everything!);
    const only = (kind: string) => documents.filter((document) => document.kind === kind);
    const labels = (document: { spec: { template: { metadata: { labels: object } } } }) =>
      document.spec.template.metadata.labels;
    const [deployment] = only("Deployment");
    for (const { spec } of only("Service")) {
      expect(labels(deployment)).toMatchObject(spec.selector);
      expect(labels(only("Job")[0])).not.toMatchObject(spec.selector);
      expect(only("Pod")[0].metadata.labels).not.toMatchObject(spec.selector);
    }
    expect(labels(deployment)).toMatchObject(only("PodDisruptionBudget")[0].spec.selector.matchLabels);
    expect(labels(deployment)).toMatchObject(only("NetworkPolicy")[0].spec.podSelector.matchLabels);
    expect(only("ServiceMonitor")[0].spec.selector.matchLabels).toMatchObject({
      "app.kubernetes.io/component": "admin",
    });
  });

  test.each<[object, number | undefined]>([
    [{}, 17],
    [{ replicaCount: 7 }, 8],
    [{ replicaCount: 10 }, undefined],
    [{ replicaCount: 10, database: { maxConnections: 300 } }, 22],
    [{ replicaCount: 2, config: { workers: 2 } }, 8],
    [{ replicaCount: 1, database: { maxConnections: 5000 } }, 48],
    [{ autoscaling: { enabled: true } }, 9],
    [{ autoscaling: { enabled: true, maxReplicas: 20 } }, undefined],
  ])("all pods of a rolling update fit into the connections of PostgreSQL, %j", async (values, connections) => {
    const result = rendered({ secrets: { existingSecret: "platform" }, ...values });
    if (connections === undefined) return expect(result).rejects.toThrow("raise it with PostgreSQL's max_connections");
    const deployment = (await result).find(({ kind }) => kind === "Deployment");
    const { env } = deployment.spec.template.spec.containers[0];
    expect(env).toContainEqual({ name: "PLATFORM_DATABASE_CONNECTIONS", value: String(connections) });
  });

  test("connections that are set are kept", async () => {
    const secrets = { existingSecret: "platform" };
    const documents = await rendered({ secrets, replicaCount: 50, config: { databaseConnections: 30 } });
    expect(JSON.stringify(documents)).not.toContain("PLATFORM_DATABASE_CONNECTIONS");
  });

  test("no secret is in a Deployment or a ConfigMap; a migration comes before", async () => {
    const documents = await rendered({ secrets: { database: "postgres://u:hidden@db/p", secretKey: "a".repeat(64) } });
    for (const { kind, ...document } of documents)
      if (kind !== "Secret") expect(JSON.stringify(document)).not.toMatch(/hidden|aaaa/);
    const job = documents.find(({ kind }) => kind === "Job");
    expect(job.metadata.annotations["helm.sh/hook"]).toBe("pre-install,pre-upgrade");
    expect(job.spec.template.spec.containers[0].args).toEqual(["migrate"]);
  });
});
