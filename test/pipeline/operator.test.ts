/** The operator's calls: without a token, with every capability, several in one transaction. */

import { Code } from "@connectrpc/connect";
import { expect, onTestFinished, test } from "vitest";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "../../gen/platform/registry/v2/tags_pb.ts";
import { install } from "../../src/app/installation.ts";
import { openOperator } from "../../src/app/open-operator.ts";
import { type AuditRecord, readAudit } from "../../src/audit/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { type Database, openDatabase } from "../../src/store/index.ts";
import { settingsIn, temporaryFolder } from "../cli/platform-process.ts";

const { createRepo, deleteRepo, listRepos } = ReposService.method;
const digest = `sha256:${"0".repeat(64)}`;

async function open() {
  const [, url] = settingsIn(await temporaryFolder()).database;
  const database = await openDatabase(url!);
  onTestFinished(() => database.close());
  await database.migrate();
  const { rootGroupUid: parent } = (await install(database, "https://platform.example.com", Date.now))!;
  const operator = await openOperator(database, readConfig({ flags: {}, env: {}, warn: expect.fail }), "operator");
  return { database, parent, operator };
}

async function recordsOf(database: Database) {
  const records: AuditRecord[] = [];
  for await (const record of readAudit(database.read, {})) records.push(record);
  return records;
}

test("several calls are one transaction, each with its audit record", async () => {
  const { database, parent, operator } = await open();
  const repo = await operator.transact(async (call) => {
    const created = await call(createRepo, { parent, repo: { name: "app" } });
    await call(TagsService.method.createTag, { parent: created.uid, tag: { name: "1.0", digest } });
    return created;
  });
  const { repos, totalCount } = await operator.transact((call) => call(listRepos, {}));
  expect([repos.map(({ uid }) => uid), totalCount]).toEqual([[repo.uid], 1n]);
  const records = await recordsOf(database);
  expect(
    records.map(({ caller, method, resource }) => [caller, method.split("/")[1], resource.startsWith(repo.uid)]),
  ).toEqual([
    ["operator", "CreateRepo", true],
    ["operator", "CreateTag", true],
  ]);
});

test("a call fails with its own error; a transaction that throws leaves nothing, not even audit records", async () => {
  const { database, parent, operator } = await open();
  const failed = operator.transact(async (call) => {
    await call(createRepo, { parent, repo: { name: "app" } });
    await call(createRepo, { parent, repo: { name: "NOT A NAME" } });
  });
  await expect(failed).rejects.toMatchObject({ code: Code.InvalidArgument });
  const { totalCount } = await operator.transact((call) => call(listRepos, {}));
  expect(totalCount).toBe(0n);
  expect(await recordsOf(database)).toEqual([]);
});

test("an error that is caught undoes its own call alone", async () => {
  const { parent, operator } = await open();
  const codes = await operator.transact(async (call) => {
    await call(createRepo, { parent, repo: { name: "app" } });
    const codeOf = (work: Promise<unknown>) =>
      work.then(
        () => 0,
        (error: { code: Code }) => error.code,
      );
    return [
      await codeOf(call(createRepo, { parent, repo: { name: "app" } })),
      await codeOf(call(deleteRepo, { uid: `${parent}/0123456789abcdef` })),
    ];
  });
  expect(codes).toEqual([Code.AlreadyExists, Code.NotFound]);
  const { totalCount } = await operator.transact((call) => call(listRepos, {}));
  expect(totalCount).toBe(1n);
});
