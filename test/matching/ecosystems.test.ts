import { describe, expect, test } from "vitest";
import { keyOfOsvPackage } from "../../src/matching/ecosystems.ts";

describe("a package of OSV", () => {
  test.each([
    ["Go", "github.com/Masterminds/semver/v3", "pkg:golang/github.com/masterminds/semver/v3"],
    ["Go", "stdlib", "pkg:golang/stdlib"],
    ["npm", "@scope/name", "pkg:npm/%40scope/name"],
    ["npm", "lodash", "pkg:npm/lodash"],
    ["PyPI", "Zope.Interface", "pkg:pypi/zope-interface"],
    ["RubyGems", "rack", "pkg:gem/rack"],
    ["crates.io", "serde_json", "pkg:cargo/serde_json"],
    ["Packagist", "Symfony/Http-Kernel", "pkg:composer/symfony/http-kernel"],
    ["Packagist:https://packages.drupal.org/8", "drupal/core", "pkg:composer/drupal/core"],
    ["Maven", "org.apache.logging.log4j:log4j-core", "pkg:maven/org.apache.logging.log4j/log4j-core"],
    ["Maven:https://maven.google.com", "androidx.core:core", "pkg:maven/androidx.core/core"],
    ["NuGet", "Newtonsoft.Json", "pkg:nuget/newtonsoft.json"],
    ["Bitnami", "Redis", "pkg:bitnami/redis"],
    ["ConanCenter", "zlib", "pkg:conan/zlib"],
    ["CRAN", "jsonlite", "pkg:cran/jsonlite"],
    ["Hackage", "aeson", "pkg:hackage/aeson"],
    ["Hex", "phoenix", "pkg:hex/phoenix"],
    ["Pub", "http", "pkg:pub/http"],
    ["Julia", "HTTP", "pkg:julia/HTTP"],
    ["opam", "lwt", "pkg:opam/lwt"],
    ["SwiftURL", "https://github.com/Apple/swift-nio.git", "pkg:swift/github.com/apple/swift-nio"],
    ["SwiftURL", "github.com/apple/swift-nio", "pkg:swift/github.com/apple/swift-nio"],
    ["GitHub Actions", "Actions/Checkout", "pkg:github/actions/checkout"],
    ["VSCode", "ms-python.python", "pkg:vscode-extension/ms-python/python"],
  ])("%s %s is %s", (ecosystem, name, key) => {
    expect(keyOfOsvPackage({ ecosystem, name })).toEqual({ key, distro: "" });
  });

  const source = { isSource: true };
  test.each([
    ["Debian:12", "pkg:deb/debian/a", "debian-12", source],
    ["Debian", "pkg:deb/debian/a", "", source],
    ["Debian:sid", "pkg:deb/debian/a", "debian-sid", source],
    ["Ubuntu:24.10", "pkg:deb/ubuntu/a", "ubuntu-24.10", source],
    ["Ubuntu:22.04:LTS", "pkg:deb/ubuntu/a", "ubuntu-22.04", source],
    ["Ubuntu:Pro:18.04:LTS", "pkg:deb/ubuntu/a", "ubuntu-18.04+pro", source],
    ["Ubuntu:Pro:FIPS-updates:20.04:LTS", "pkg:deb/ubuntu/a", "ubuntu-20.04+fips", source],
    ["Alpine:v3.19", "pkg:apk/alpine/a", "alpine-3.19", source],
    ["Alpaquita:stream", "pkg:apk/alpaquita/a", "alpaquita-stream", source],
    ["Wolfi", "pkg:apk/wolfi/a", "", {}],
    ["Chainguard", "pkg:apk/chainguard/a", "", {}],
    ["MinimOS", "pkg:apk/minimos/a", "", {}],
    ["Rocky Linux:9", "pkg:rpm/rocky/a", "rocky-9", {}],
    ["AlmaLinux:8", "pkg:rpm/almalinux/a", "almalinux-8", {}],
    ["Azure Linux:3", "pkg:rpm/azurelinux/a", "azurelinux-3", source],
    ["Red Hat:enterprise_linux:9::baseos", "pkg:rpm/redhat/a", "redhat-9", {}],
    ["Red Hat:rhel_eus:9.2::appstream", "pkg:rpm/redhat/a", "redhat-9.2", {}],
    ["Red Hat:rhel_aus:8.4::appstream", "pkg:rpm/redhat/a", "redhat-8.4", {}],
    ["SUSE:Linux Enterprise Server 15 SP5", "pkg:rpm/suse/a", "suse-15.5", source],
    ["SUSE:Linux Enterprise Module for Basesystem 15 SP5", "pkg:rpm/suse/a", "suse-15.5", source],
    ["SUSE:Linux Enterprise Server 12 SP5-LTSS", "pkg:rpm/suse/a", "suse-12.5", source],
    ["SUSE:Linux Enterprise Server LTSS Extended Security 12 SP5", "pkg:rpm/suse/a", "suse-12.5", source],
    ["SUSE:Linux Enterprise Server 15-LTSS", "pkg:rpm/suse/a", "suse-15.0", source],
    ["SUSE:Linux Enterprise Micro 5.5", "pkg:rpm/suse/a", "suse-micro-5.5", source],
    ["SUSE:Linux Micro 6.0", "pkg:rpm/suse/a", "suse-micro-6.0", source],
    ["openSUSE:Leap 15.5", "pkg:rpm/opensuse/a", "opensuse-15.5", source],
    ["openSUSE:Leap Micro 5.5", "pkg:rpm/opensuse/a", "opensuse-micro-5.5", source],
    ["openSUSE:Tumbleweed", "pkg:rpm/opensuse/a", "opensuse-tumbleweed", source],
    ["openEuler:22.03-LTS-SP1", "pkg:rpm/openeuler/a", "openeuler-22.03-lts-sp1", source],
    ["Mageia:9", "pkg:rpm/mageia/a", "mageia-9", source],
    ["Photon OS:5.0", "pkg:rpm/photon/a", "photon-5.0", {}],
    ["Echo", "pkg:deb/echo/a", "", source],
  ])("%s is of %s in release %j", (ecosystem, key, distro, more) => {
    expect(keyOfOsvPackage({ ecosystem, name: "a" })).toEqual({ key, distro, ...more });
  });

  test.each([
    ["Linux", "is of an ecosystem without package URLs"],
    ["Android", "is of an ecosystem without package URLs"],
    ["Kubernetes", "is of an ecosystem without package URLs"],
    ["Docker Hardened Images", "is of an ecosystem without package URLs"],
    ["TuxCare:Ubuntu:18.04", "is of an ecosystem without package URLs"],
    ["Root:Alpine:3.18", "is of an ecosystem without package URLs"],
    ["constructor", "is of an unknown ecosystem"],
    ["Red Hat:openshift:4.12::el8", "is of a product, not of a release"],
    ["Red Hat:rhel_software_collections:3::el7", "is of a product, not of a release"],
    ["SUSE:Manager Server 4.3", "is of a product, not of a release"],
    ["Ubuntu:Touch", "is of a product, not of a release"],
    ["Echo:PyPI", "is of a product, not of a release"],
  ])("of %s has no key: it %s", (ecosystem, reason) => {
    expect(keyOfOsvPackage({ ecosystem, name: "a" })).toBe(reason);
  });

  test("of an ecosystem that is not known has the key of its package URL, but in a distribution", () => {
    const unknown = { ecosystem: "New", name: "a" };
    expect(keyOfOsvPackage({ ...unknown, purl: "pkg:bioconductor/a" })).toEqual({
      key: "pkg:bioconductor/a",
      distro: "",
    });
    expect(keyOfOsvPackage({ ...unknown, purl: "pkg:deb/new/a" })).toBe("is of an unknown ecosystem");
    expect(keyOfOsvPackage({ ecosystem: "npm", name: "a", purl: "pkg:npm/b" })).toMatchObject({ key: "pkg:npm/a" });
  });
});
