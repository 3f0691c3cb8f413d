import { expect, test } from "vitest";
import {
  canonicalDistribution,
  canonicalRelease,
  distributionOf,
  isOfRelease,
} from "../../src/matching/distributions.ts";

test.each([
  ["rhel", "redhat"],
  ["Rocky-Linux", "rocky"],
  ["sles", "suse"],
  ["opensuse-leap", "opensuse"],
  ["azure-linux", "azurelinux"],
  ["Debian", "debian"],
  ["of-nobody", "of-nobody"],
])("%s is the distribution %s", (name, expected) => {
  expect(canonicalDistribution(name)).toBe(expected);
});

test.each([
  ["debian-12.5", "debian", "debian-12.5"],
  ["12", "debian", "debian-12"],
  ["bookworm", "debian", "debian-12"],
  ["bookworm", "", "debian-12"],
  ["debian-bookworm", "debian", "debian-12"],
  ["debian-trixie", "", "debian-13"],
  ["sid", "debian", "debian-sid"],
  ["debian-sid", "", "debian-sid"],
  ["ubuntu-22.04", "ubuntu", "ubuntu-22.04"],
  ["Jammy", "ubuntu", "ubuntu-22.04"],
  ["alpine-3.19.1", "alpine", "alpine-3.19.1"],
  ["3.19.1", "alpine", "alpine-3.19.1"],
  ["v3.19", "alpine", "alpine-3.19"],
  ["alpine-v3.19", "alpine", "alpine-3.19"],
  ["edge", "alpine", "alpine-edge"],
  ["alpine-3.21_alpha20240606", "alpine", "alpine-edge"],
  ["rhel-9.3", "redhat", "redhat-9.3"],
  ["redhat-9.3", "rhel", "redhat-9.3"],
  ["rocky-9.3", "rocky-linux", "rocky-9.3"],
  ["sles-15.5", "sles", "suse-15.5"],
  ["sle-micro-5.5", "suse", "suse-micro-5.5"],
  ["opensuse-leap-15.5", "opensuse-leap", "opensuse-15.5"],
  ["opensuse-tumbleweed-20240101", "opensuse", "opensuse-tumbleweed"],
  ["tumbleweed", "opensuse", "opensuse-tumbleweed"],
  ["openEuler-22.03", "openeuler", "openeuler-22.03"],
  ["22.03-LTS-SP1", "openeuler", "openeuler-22.03-lts-sp1"],
  ["amzn-2023", "amazon", "amazon-2023"],
  // These have no releases.
  ["wolfi-20230201", "wolfi", ""],
  ["wolfi", "wolfi", ""],
  ["debian", "debian", ""],
  ["", "debian", ""],
  // Nothing is known about these.
  ["12", "", "12"],
  ["stable", "", "stable"],
])("the release %j of %j is %j", (distro, namespace, expected) => {
  expect(canonicalRelease(distro, namespace)).toBe(expected);
  expect(canonicalRelease(expected, namespace)).toBe(expected);
});

test.each([
  ["alpine-3.19", "alpine"],
  ["rhel-9.3", "redhat"],
  ["jammy", "ubuntu"],
  ["12", ""],
  ["", ""],
])("the release %j names the distribution %j", (distro, expected) => {
  expect(distributionOf(distro)).toBe(expected);
});

test.each([
  ["debian-12", "debian-12", true],
  ["debian-12", "debian-12.5", true],
  ["", "debian-12.5", true],
  ["", "", true],
  ["debian-12.5", "debian-12", false],
  ["alpine-3.1", "alpine-3.19", false],
  ["debian-12", "", false],
])("what is said of %j holds for %j: %j", (stated, release, expected) => {
  expect(isOfRelease(stated, release)).toBe(expected);
});
