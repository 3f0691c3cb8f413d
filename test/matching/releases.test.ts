import { expect, test } from "vitest";
import { factsForRelease, streamOf } from "../../src/matching/releases.ts";

/** The releases of the facts that are chosen, in groups. */
function chosen(distros: string, distro: string, version = "1"): string {
  const facts = distros.split(" ").map((each) => ({
    key: "",
    distro: each === "all" ? "" : each,
    ranges: [],
    versions: [],
  }));
  const groups = factsForRelease(facts, { distro, stream: streamOf("deb", version) });
  return groups.map((group) => group.map((each) => each.distro || "all").join(" ")).join(" | ");
}

test.each([
  // Of all releases.
  ["all", "debian-12", "all"],
  ["all all", "", "all all"],
  // Of one release, and its point releases.
  ["debian-11 debian-12 debian-12", "debian-12.5", "debian-12 debian-12"],
  ["debian-11", "debian-12", ""],
  ["alpine-3.1", "alpine-3.19", ""],
  // The narrowest decides.
  ["all debian-12", "debian-12", "debian-12"],
  ["all debian-12", "debian-13", "all"],
  ["redhat-9 redhat-9.2", "redhat-9.2", "redhat-9.2"],
  ["redhat-9 redhat-9.2", "redhat-9.4", "redhat-9"],
  // Which release it is, is not known.
  ["debian-11 debian-12", "", "debian-11 | debian-12"],
  ["all debian-12", "", "all | debian-12"],
  ["redhat-9 redhat-9.2 redhat-8", "redhat-9", "redhat-9 | redhat-9.2"],
  ["suse-15.4 suse-15.5", "suse-15", "suse-15.4 | suse-15.5"],
  [
    "openeuler-22.03-lts openeuler-22.03-lts-sp1 openeuler-24.03-lts",
    "openeuler-22.03",
    "openeuler-22.03-lts | openeuler-22.03-lts-sp1",
  ],
])("of facts about %s, a component of %j has %j", (distros, distro, expected) => {
  expect(chosen(distros, distro)).toBe(expected);
});

test.each([
  ["ubuntu-18.04 ubuntu-18.04+pro", "1-2ubuntu3", "ubuntu-18.04"],
  ["ubuntu-18.04 ubuntu-18.04+pro", "1-2ubuntu3+esm1", "ubuntu-18.04+pro"],
  ["ubuntu-18.04", "1-2ubuntu3+esm1", "ubuntu-18.04"],
  ["ubuntu-18.04+pro", "1-2ubuntu3", "ubuntu-18.04+pro"],
  ["ubuntu-18.04 ubuntu-18.04+fips", "1-2ubuntu3.fips.1", "ubuntu-18.04+fips"],
  ["ubuntu-18.04+pro ubuntu-18.04+fips", "1-2ubuntu3", "ubuntu-18.04+pro"],
  ["ubuntu-18.04+fips", "1-2ubuntu3", ""],
])("of facts about %s, version %s has %j", (distros, version, expected) => {
  expect(chosen(distros, "ubuntu-18.04", version)).toBe(expected);
});

test("a version of another type comes from no stream", () => {
  expect(streamOf("npm", "1.0.0-esm1")).toBe("");
});
