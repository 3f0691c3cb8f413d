/** The quotas of an organisation, a root group and everything below it. */
import { quotaKinds } from "../gen/quota-kinds.ts";

/** That of a kind whose number nobody has set. */
const otherQuota = 100_000;

/** How many of a kind an organisation can have where the setting does not say it, by the name of the quota. */
export const defaultQuotas: Readonly<Record<string, number>> = {
  ...Object.fromEntries(quotaKinds.map((kind) => [kind, otherQuota])),
  identities: 1_000_000,
  roles: 10_000,
  roleBindings: 1_000_000,
  identityProviders: 1_000,
  termsAcceptances: 1_000_000,
  subscriptions: 10_000,
  repos: 10_000_000,
  tags: 100_000_000,
  advisories: 1_000_000,
  signIns: 1_000_000,
  scim_users: 1_000_000,
  scim_groups: 100_000,
  scim_members: 10_000_000,
  sbomDocuments: 1_000_000,
  vulnReports: 1_000_000,
  vexDocuments: 100_000,
  analyses: 10_000,
  readmeBytes: 10 * 2 ** 30,
  sbomBytes: 100 * 2 ** 30,
  vexBytes: 10 * 2 ** 30,
  vexStatementBytes: 32 * 2 ** 20,
  scim_user_bytes: 10 * 2 ** 30,
  scim_group_bytes: 10 * 2 ** 30,
};

/** Quotas by their names, as the setting gives them. Infinity is none. */
export type Quotas = Readonly<Record<string, number>>;

/** The quota of a name. */
export function quotaOf(quotas: Quotas, name: string): number {
  return quotas[name] ?? otherQuota;
}
