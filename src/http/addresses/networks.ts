/** Addresses and networks. Addresses are texts: `192.0.2.1`, `2001:db8::1`. */
import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * One spelling of an address: an IPv4 address that IPv6 carries is itself, and an IPv6 address is in its short form.
 */
export function canonicalAddress(address: string): string {
  return isIPv6(address) ? ipaddr.process(address).toString() : address;
}

/** An IPv4 address, or the first 64 bits of an IPv6 address, which one client may have for itself. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.process(address.replace(/%.*$/, ""));
  return parsed instanceof ipaddr.IPv6
    ? parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(":")
    : parsed.toString();
}

/** Which family a `BlockList` looks an address up in. */
export function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv4(address) ? "ipv4" : "ipv6";
}
