// Bundles the server under test.
export default {
  input: "test/connect-conformance/server.ts",
  platform: "node",
  transform: { target: "node24.16" },
};
