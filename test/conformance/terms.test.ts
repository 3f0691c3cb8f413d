/** Terms through the port: what a group accepts counts for the groups in it. */
import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { TermsService } from "../../gen/platform/iam/v2/terms_pb.ts";
import { failureOf, onEveryServer } from "./iam-server.ts";

const [automation, privacy, registry] = ["automation-tos.v1", "data-privacy.v1", "registry-tos.v1"] as const;

onEveryServer("terms", (server) => {
  const accept = (group: string, ...documentIds: string[]) =>
    server().ok(`POST /iam/v2/terms/${group}`, { documentIds });
  const list = (group: string, query = "") => server().ok(`GET /iam/v2/terms/${group}${query}`);
  const subgroup = async (parent: string, name: string) =>
    (await server().ok(`POST /iam/v2/groups/${parent}`, { name })).uid as string;
  const documents = (answer: { termsAcceptances: { docId: string }[] }) =>
    answer.termsAcceptances.map(({ docId }) => docId).sort();

  it("are accepted once, however often", async () => {
    const { root, grpc, holderOf, admin } = server();
    const first = await holderOf(root, "CAP_TERMS_ACCEPT");
    const client = grpc(TermsService, first.token);
    const accepted = await client.acceptTerms({ group: root, documentIds: [registry, privacy, registry] });
    expect([accepted.group, accepted.documentIds]).toEqual([root, [registry, privacy, registry]]);
    const before = await list(root);
    expect(await accept(root, privacy, automation)).toEqual({ group: root, documentIds: [privacy, automation] });
    const after = await list(root);
    expect([documents(after), after.totalCount]).toEqual([[automation, privacy, registry], "3"]);
    for (const acceptance of before.termsAcceptances) {
      expect(after.termsAcceptances).toContainEqual(acceptance);
      expect(acceptance).toMatchObject({ acceptedBy: first.uid, orgUid: root, updateTime: acceptance.createTime });
      expect(acceptance.uid).toMatch(new RegExp(`^${root}/[0-9a-f]{16}$`));
    }
    expect((await grpc(TermsService, admin).listTermsAcceptances({ group: root })).totalCount).toBe(3n);
  });

  it("are accepted once by many clients at once", async () => {
    const { root } = server();
    await Promise.all(Array.from({ length: 16 }, () => accept(root, registry, privacy)));
    expect((await list(root)).totalCount).toBe("2");
  });

  it("are those that the operator has", async () => {
    const { root, admin, rest } = server();
    const answer = await rest(admin, `POST /iam/v2/terms/${root}`, { documentIds: [registry, "else.v1", "else.v2"] });
    expect(answer.status).toBe(400);
    const [violation, ...others] = answer.body.details[1].fieldViolations;
    expect([violation.field, others]).toEqual(["document_ids", []]);
    expect(violation.description).toMatch(
      /^no document has the id "else\.v1", "else\.v2"; there are automation-tos\.v1 /,
    );
    expect((await rest(admin, `POST /iam/v2/terms/${root}`, { documentIds: [] })).status).toBe(400);
    expect((await list(root)).totalCount).toBe("0");
  });

  it("of the groups above are listed too, of no others", async () => {
    const { root, rest, holderOf } = server();
    const left = await subgroup(root, "left");
    const leaf = await subgroup(left, "leaf");
    const right = await subgroup(root, "right");
    await accept(root, registry);
    await accept(left, privacy);
    await accept(leaf, registry);
    await accept(right, automation);
    const expected: [string, string[]][] = [
      [root, [registry]],
      [left, [privacy, registry]],
      [leaf, [privacy, registry, registry]],
      [right, [automation, registry]],
    ];
    for (const [group, docIds] of expected) {
      const answer = await list(group);
      expect([documents(answer), answer.totalCount]).toEqual([docIds, String(docIds.length)]);
    }
    const local = await holderOf(leaf, "CAP_TERMS_LIST");
    expect((await rest(local.token, `GET /iam/v2/terms/${leaf}`)).body).toEqual(await list(leaf));
    expect((await rest(local.token, `GET /iam/v2/terms/${left}`)).status).toBe(403);
    expect((await rest(local.token, `POST /iam/v2/terms/${leaf}`, { documentIds: [registry] })).status).toBe(403);
  });

  it("are listed in an order, page by page, and counted", async () => {
    const { root, admin, rest } = server();
    const group = await subgroup(root, "paged");
    await accept(root, registry);
    await accept(group, automation, privacy, registry);
    const uids = ({ termsAcceptances }: { termsAcceptances: { uid: string }[] }) =>
      termsAcceptances.map(({ uid }) => uid);
    const all = uids(await list(group));
    expect(all).toEqual(all.toSorted());
    const first = await list(group, "?page_size=2");
    const second = await list(group, `?page_size=2&page_token=${first.nextPageToken}`);
    expect([...uids(first), ...uids(second)]).toEqual(all);
    expect(second).not.toHaveProperty("nextPageToken");
    const last = await list(group, "?order_by=uid%20desc&skip=1");
    expect([uids(last), last.totalCount, last.skipped]).toEqual([all.toReversed().slice(1), "4", 1]);
    const newest = await list(group, "?order_by=created_at%20desc&page_size=1");
    expect(newest.totalCount).toBe("4");
    const elsewhere = await rest(admin, `GET /iam/v2/terms/${root}?page_token=${first.nextPageToken}`);
    expect(elsewhere.body.message).toContain("page_token");
    expect((await rest(admin, `GET /iam/v2/terms/${group}?order_by=doc_id`)).body.message).toContain("order_by");
  });

  it("are filtered by document, those of the groups above too", async () => {
    const { root, admin, grpc } = server();
    const group = await subgroup(root, "filtered");
    await accept(root, registry);
    await accept(group, privacy, registry);
    const found = await list(group, `?doc_id=${registry}`);
    expect([documents(found), found.totalCount]).toEqual([[registry, registry], "2"]);
    expect(await list(group, `?docId=${registry}`)).toEqual(found);
    expect((await list(group, "?doc_id=other")).totalCount).toBe("0");
    const overGrpc = await grpc(TermsService, admin).listTermsAcceptances({ group, docId: privacy });
    expect(overGrpc.termsAcceptances.map(({ docId }) => docId)).toEqual([privacy]);
    const first = await list(group, `?doc_id=${registry}&page_size=1`);
    const second = await list(group, `?page_token=${first.nextPageToken}`);
    expect([...documents(first), ...documents(second)]).toEqual([registry, registry]);
  });

  it("need a group that exists", async () => {
    const { root, admin, rest, grpc } = server();
    const missing = `${root}/0000000000000000`;
    const client = grpc(TermsService, admin);
    expect((await failureOf(client.listTermsAcceptances({ group: missing }))).code).toBe(Code.NotFound);
    const answer = await rest(admin, `POST /iam/v2/terms/${missing}`, { documentIds: [registry] });
    expect(answer.body.details[1]).toMatchObject({
      resourceType: "iam.platform.internal/Group",
      resourceName: missing,
    });
  });

  it("go with their group, and stay where they were only checked", async () => {
    const { root, ok, database } = server();
    const group = await subgroup(root, "gone");
    await accept(group, registry);
    await ok(`POST /iam/v2/terms/${root}`, { documentIds: [registry], validateOnly: true });
    await ok(`DELETE /iam/v2/groups/${group}`);
    expect(await database.sql("select uid from terms_acceptances")).toEqual([]);
  });
});

onEveryServer(
  "terms of an operator",
  (server) => {
    it("replace the neutral ones", async () => {
      const { root, ok, rest, admin } = server();
      await ok(`POST /iam/v2/terms/${root}`, { documentIds: ["ours.v3"] });
      const answer = await rest(admin, `POST /iam/v2/terms/${root}`, { documentIds: [registry] });
      expect(answer.body.message).toBe(
        'Invalid argument: document_ids: no document has the id "registry-tos.v1"; there are ours.v3 (Ours, https://example.com/ours)',
      );
    });
  },
  { termsDocuments: '[{"id":"ours.v3","label":"Ours","url":"https://example.com/ours"}]' },
);
