import { expect, test } from "vitest";
import { readConfig, readSettings } from "../../src/config/index.ts";

const read = (flags: Readonly<Record<string, string>>) => readConfig({ flags, env: {}, warn: () => {} });

test("trusted proxies are addresses and networks", () => {
  const trustedProxies = "10.0.0.0/8, 192.0.2.1,2001:db8::/32 ,::1";
  expect(read({ trustedProxies }).trustedProxies).toEqual(["10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "::1"]);
});

test.each([
  "10.0.0.0/33",
  "10.0.0/8",
  "::/129",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "proxy.example",
  "fe80::1%eth0",
  "1.2.3.4:80",
])("%s is not a network", (trustedProxies) => {
  expect(() => read({ trustedProxies })).toThrow("--trusted-proxies: must be a list of addresses and networks");
});

test("the PROXY protocol needs trusted proxies", () => {
  const { problems } = readSettings({ flags: { proxyProtocol: "on" }, env: {}, warn: () => {} });
  expect(problems).toEqual([{ kind: "error", message: "--proxy-protocol=on needs --trusted-proxies" }]);
  expect(read({ proxyProtocol: "on", trustedProxies: "::1" }).proxyProtocol).toBe("on");
});

test("the field is one of two, in any case", () => {
  expect(read({ forwardedHeader: "FORWARDED" }).forwardedHeader).toBe("forwarded");
  expect(() => read({ forwardedHeader: "X-Real-IP" })).toThrow(
    "--forwarded-header: must be X-Forwarded-For or Forwarded",
  );
});

test("idle times have a limit: 0 is not one", () => {
  expect(read({ keepAliveTimeout: "620s", http2IdleTimeout: "10m" })).toMatchObject({
    keepAliveTimeout: 620_000,
    http2IdleTimeout: 600_000,
  });
  for (const text of ["0", "999ms", "25h"])
    expect(() => read({ keepAliveTimeout: text })).toThrow("--keep-alive-timeout: must be a duration from 1s to 24h");
});
