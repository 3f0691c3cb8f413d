import { expect, test } from "vitest";
import { Finding_Level } from "../../../gen/platform/findings/v1/findings_pb.ts";
import { ratingMessages } from "../../../src/services/matches/ratings.ts";

const critical = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H";
const high = "CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H";
const medium = "AV:N/AC:L/Au:N/C:P/I:N/A:N";

test("the publisher counts before the NVD, and that before a distribution", () => {
  const nvd = { source: "nvd", vector: critical };
  const debian = { source: "debian", vector: "", word: "low" };
  const ghsa = { source: "ghsa", vector: high };
  const first = (...facts: Parameters<typeof ratingMessages>[0]) => ratingMessages(facts).messages[0]!.source;
  expect([first(nvd, debian, ghsa), first(debian, nvd), first(debian)]).toEqual(["ghsa", "nvd", "debian"]);
});

test("each rating has its level and score, the one that counts first", () => {
  const facts = [
    { source: "ghsa", vector: medium },
    { source: "ghsa", vector: critical },
    { source: "ghsa", vector: critical },
    { source: "ubuntu", vector: "", word: "negligible" },
  ];
  expect(ratingMessages(facts)).toEqual({
    messages: [
      { source: "ghsa", vector: critical, level: Finding_Level.CRITICAL, score: 9.8 },
      { source: "ghsa", vector: medium, level: Finding_Level.MEDIUM, score: 5 },
      { source: "ubuntu", vector: "", level: Finding_Level.LOW },
    ],
    counting: { level: Finding_Level.CRITICAL, score: 9.8 },
  });
  expect(ratingMessages(facts.toReversed())).toEqual(ratingMessages(facts));
  expect(ratingMessages([])).toEqual({ messages: [], counting: undefined });
});
