import { describe, expect, test } from "vitest";
import {
  type Component,
  type ComponentDetails,
  componentKeys,
  componentOf,
  sourceOf,
  unmatchedReason,
} from "../../src/matching/component.ts";

const read = (purl: string, details?: ComponentDetails) => componentOf(purl, details) as Component;

describe("a component", () => {
  test("has the parts of its package URL", () => {
    expect(
      componentOf("pkg:deb/debian/libssl3@3.0.11-1?arch=amd64&distro=debian-12.5&upstream=openssl%403.0.11-2"),
    ).toEqual({
      purl: "pkg:deb/debian/libssl3@3.0.11-1?distro=debian-12.5",
      type: "deb",
      namespace: "debian",
      name: "libssl3",
      version: "3.0.11-1",
      distro: "debian-12.5",
      origin: "openssl",
      originVersion: "3.0.11-2",
    });
  });

  test.each([
    ["pkg:apk/wolfi/openssl@3-r0?arch=x86_64", "pkg:apk/wolfi/openssl@3-r0"],
    ["pkg:apk/wolfi/openssl@3-r0?arch=aarch64&distro=wolfi-20230201", "pkg:apk/wolfi/openssl@3-r0"],
    ["pkg:rpm/rhel/openssl@3?epoch=1&distro=rhel-9.3", "pkg:rpm/redhat/openssl@1:3?distro=redhat-9.3"],
    ["pkg:apk/openssl@3-r0?distro=alpine-3.19", "pkg:apk/alpine/openssl@3-r0?distro=alpine-3.19"],
    ["pkg:npm/%40a/b@1?distro=debian-12&vcs_url=x#lib", "pkg:npm/%40a/b@1"],
    ["pkg:golang/github.com/Masterminds/semver@v1.5.0#x", "pkg:golang/github.com/Masterminds/semver@v1.5.0"],
  ])("%s is %s", (purl, expected) => {
    expect(read(purl).purl).toBe(expected);
    expect(read(expected)).toEqual(read(purl));
  });

  test("takes from its document what the package URL does not say", () => {
    const details = { version: "2", distro: "bookworm", origin: "glibc", originVersion: "2.36" };
    expect(read("pkg:deb/debian/libc6", details)).toMatchObject({
      purl: "pkg:deb/debian/libc6@2?distro=debian-12",
      origin: "glibc",
      originVersion: "2.36",
    });
    expect(read("pkg:deb/debian/libc6@1?distro=debian-11&upstream=eglibc", details)).toMatchObject({
      purl: "pkg:deb/debian/libc6@1?distro=debian-11",
      origin: "eglibc",
    });
  });

  test("has no origin that says nothing", () => {
    expect(read("pkg:apk/wolfi/a@1-r0?upstream=a%401-r0")).toMatchObject({ origin: "", originVersion: "" });
    expect(read("pkg:npm/a@1?upstream=b")).toMatchObject({ origin: "", originVersion: "" });
  });

  test.each([
    ["openssl", "is not a package URL"],
    ["pkg:npm/a", "has no version"],
    ["pkg:oci/app@sha256:00", "is an image, not a package"],
    ["pkg:docker/library/debian@12", "is an image, not a package"],
  ])("is not %s: it %s", (purl, reason) => {
    expect(componentOf(purl)).toBe(reason);
  });

  test("of no distribution matches nothing", () => {
    expect(unmatchedReason(read("pkg:apk/openssl@3-r0"))).toBe("names no distribution");
    expect(unmatchedReason(read("pkg:apk/wolfi/openssl@3-r0"))).toBeUndefined();
    expect(unmatchedReason(read("pkg:npm/a@1"))).toBeUndefined();
  });
});

describe("the keys of a component", () => {
  const keysOf = (purl: string, details?: ComponentDetails) =>
    componentKeys(read(purl, details)).map(({ key, version, isSource, distro }) => [key, version, isSource, distro]);

  test("of a distribution are its own and that of its source package", () => {
    expect(keysOf("pkg:deb/debian/libssl3@3.0-1?distro=debian-12&upstream=openssl%403.0-2")).toEqual([
      ["pkg:deb/debian/libssl3", "3.0-1", false, "debian-12"],
      ["pkg:deb/debian/openssl", "3.0-2", true, "debian-12"],
    ]);
    expect(keysOf("pkg:apk/alpine/libcrypto3@3-r0", { origin: "openssl" })).toEqual([
      ["pkg:apk/alpine/libcrypto3", "3-r0", false, ""],
      ["pkg:apk/alpine/openssl", "3-r0", true, ""],
    ]);
  });

  test("are one name if the source package has it", () => {
    expect(keysOf("pkg:apk/wolfi/curl@8-r0")).toEqual([
      ["pkg:apk/wolfi/curl", "8-r0", false, ""],
      ["pkg:apk/wolfi/curl", "8-r0", true, ""],
    ]);
  });

  test("of a language are its own", () => {
    expect(keysOf("pkg:pypi/Zope.Interface@5.0")).toEqual([["pkg:pypi/zope-interface", "5.0", false, ""]]);
  });
});

test.each([
  ["", "1", "", ""],
  ["gcc-12", "1", "gcc-12", ""],
  ["glibc@2.31-1", "1", "glibc", "2.31-1"],
  ["openssl-3.0.7-2.el9.src.rpm", "1:3.0.7-2.el9", "openssl", "1:3.0.7-2.el9"],
  ["openssl-3.0.7-2.el9.src.rpm", "4", "openssl", "3.0.7-2.el9"],
])("the source %j of version %j is %j at %j", (upstream, version, origin, originVersion) => {
  expect(sourceOf(upstream, version)).toEqual({ origin, originVersion });
});
