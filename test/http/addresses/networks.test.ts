import { expect, test } from "vitest";
import { networkOf } from "../../../src/http/addresses/networks.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1:2::9", "2001:db8:1:2"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["::1", "0:0:0:0"],
])("%s is limited as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});
