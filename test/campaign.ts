/**
 * A campaign tries many random or generated cases, and stands in a file named `*.campaign.test.ts`. The project of its
 * folder, which `npm test` runs, tries a few of each kind; the project `campaigns` tries all.
 */
export function campaign<T>({ short, full }: { short: T; full: T }): T {
  return process.env.TEST_CAMPAIGN === "full" ? full : short;
}
