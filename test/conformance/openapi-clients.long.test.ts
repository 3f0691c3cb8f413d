/**
 * Clients that generators make from the OpenAPI document do the first steps of the tutorial, invite somebody, and read
 * the violations of a bad request. One of them validates whatever it sends and receives.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readOpenApi } from "../../src/app/index.ts";
import { goProgram } from "../go-program.ts";
import { onOneServer } from "./platform.ts";

const run = promisify(execFile);

/** The parts of a client, without its documentation and tests. */
const generated = "apis,models,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false";

/** What every tour prints. */
const expected = "my-repo Changed 1 NOT_FOUND viewer a@example.com role_uid\n";

interface Language {
  readonly name: string;
  /** Generates a client in `folder` from `openapi.json` there, and returns the tour's command; undefined: why not. */
  prepare(folder: string): Promise<{ readonly command: readonly string[]; readonly cwd: string } | string>;
}

const typeScript: Language = {
  name: "TypeScript, by openapi-typescript and openapi-fetch",
  async prepare(folder) {
    const cache = resolve(import.meta.dirname, "../../node_modules/.cache/openapi-typescript");
    const packages = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@24.19.2"];
    if (!existsSync(join(cache, "node_modules/openapi-fetch"))) {
      await mkdir(cache, { recursive: true });
      await writeFile(join(cache, "package.json"), '{"type": "module"}');
      const installed = await run("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: cache }).catch(
        (error: Error) => error,
      );
      if (installed instanceof Error) return `npm cannot install ${packages[0]}: ${installed.message.split("\n")[0]}`;
    }
    const place = join(cache, "tour");
    await mkdir(place, { recursive: true });
    const bin = (name: string) => join(cache, "node_modules/.bin", name);
    await run(bin("openapi-typescript"), [join(folder, "openapi.json"), "-o", join(place, "api.d.ts")]);
    await writeFile(
      join(place, "tour.ts"),
      `import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const { API: baseUrl = "", TOKEN, ROOT = "", GROUP = "" } = process.env;
const api = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${TOKEN}\` } });
const at = (uid: string) => ({ params: { path: { uid } } });

const group = await api.POST("/iam/v2/groups/{uid}", { ...at(ROOT), body: { name: GROUP } });
const parent = group.data?.uid ?? "";
const repo = await api.POST("/registry/v2/repos/{uid}", { ...at(parent), body: { name: "my-repo" } });
const uid = repo.data?.uid ?? "";
const changed = await api.PATCH("/registry/v2/repos/{uid}", { ...at(uid), body: { description: "Changed" } });
const query = { "uidp.descendants_of": parent, page_size: 5, order_by: "name desc" };
const list = await api.GET("/registry/v2/repos", { params: { query } });
await api.DELETE("/registry/v2/repos/{uid}", at(uid));
const gone = await api.GET("/registry/v2/repos/{uid}", at(uid));
const reason = gone.error?.details.flatMap((detail) => ("reason" in detail ? [detail.reason] : []))[0];
const roles = await api.GET("/iam/v2/roles", { params: { query: { name: "viewer" } } });
const body = { roleUid: roles.data?.roles[0]?.uid ?? "", ttl: "3600s", email: "a@example.com" };
const made = await api.POST("/iam/v2/groupInvites/{uid}", { ...at(parent), body });
const invite = await api.GET("/iam/v2/groupInvites/{uid}", at(made.data?.uid ?? ""));
const bad = await api.POST("/iam/v2/groupInvites/{uid}", { ...at(parent), body: { ...body, roleUid: "0".repeat(40) } });
const fields = bad.error?.details.flatMap((detail) =>
  detail["@type"] === "type.googleapis.com/google.rpc.BadRequest" ? (detail.fieldViolations ?? []) : [],
);
const { name, description } = changed.data!;
console.log(name, description, list.data?.totalCount, reason, invite.data?.role?.name, invite.data?.email, fields?.[0]?.field);
`,
    );
    const options = "--strict --module nodenext --target es2022 --skipLibCheck --types node";
    await run(bin("tsc"), [...options.split(" "), join(place, "tour.ts")]);
    return { command: [process.execPath, join(place, "tour.js")], cwd: place };
  },
};

const python: Language = {
  name: "Python, by openapi-python-client",
  async prepare(folder) {
    const interpreter = process.env.TEST_PYTHON;
    if (interpreter === undefined) return "TEST_PYTHON names no Python";
    const bin = dirname(interpreter);
    const generator = join(bin, "openapi-python-client");
    if (!existsSync(generator)) return "openapi-python-client is not installed";
    const args = ["generate", "--path", "openapi.json", "--meta", "none", "--output-path", "api_client"];
    const { stdout } = await run(generator, args, {
      cwd: folder,
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    });
    expect(stdout, "every operation and every schema is understood").not.toMatch(/WARNING|Unable to process/);
    await writeFile(
      join(folder, "tour.py"),
      `import os
from api_client import AuthenticatedClient
from api_client.api.group_invites import create_group_invite, get_group_invite
from api_client.api.groups import create_group
from api_client.api.repos import create_repo, delete_repo, get_repo, list_repos, update_repo
from api_client.api.roles import list_roles
from api_client.models import BadRequestDetail, GroupInput, GroupInviteInput, RepoInput, RepoPatch

api = AuthenticatedClient(base_url=os.environ["API"], token=os.environ["TOKEN"])
group = create_group.sync(os.environ["ROOT"], client=api, body=GroupInput(name=os.environ["GROUP"]))
repo = create_repo.sync(group.uid, client=api, body=RepoInput(name="my-repo"))
changed = update_repo.sync(repo.uid, client=api, body=RepoPatch(description="Changed"))
page = list_repos.sync(client=api, uidp_descendants_of=group.uid, page_size=5, order_by="name desc")
delete_repo.sync_detailed(repo.uid, client=api)
gone = get_repo.sync(repo.uid, client=api)
viewer = list_roles.sync(client=api, name="viewer").roles[0]
body = GroupInviteInput(role_uid=viewer.uid, ttl="3600s", email="a@example.com")
made = create_group_invite.sync(group.uid, client=api, body=body)
invite = get_group_invite.sync(made.uid, client=api)
bad = create_group_invite.sync(group.uid, client=api, body=GroupInviteInput(role_uid="0" * 40, ttl="3600s"))
[field] = [v.field for d in bad.details if isinstance(d, BadRequestDetail) for v in d.field_violations]
result = [changed.name, changed.description, page.total_count, gone.details[0].reason]
print(*result, invite.role.name, invite.email, field)
`,
    );
    return { command: [interpreter, "tour.py"], cwd: folder };
  },
};

const validatingPython: Language = {
  name: "Validating Python, by openapi-generator",
  async prepare(folder) {
    const interpreter = process.env.TEST_PYTHON;
    if (interpreter === undefined) return "TEST_PYTHON names no Python";
    const generator = join(dirname(interpreter), "openapi-generator-cli");
    if (!existsSync(generator)) return "openapi-generator-cli is not installed";
    const options = ["--additional-properties", "packageName=api_client", "--global-property", generated];
    await run(generator, ["generate", "-g", "python", "-i", "openapi.json", "-o", ".", ...options], {
      cwd: folder,
      maxBuffer: 64 * 1024 * 1024,
    });
    await writeFile(
      join(folder, "tour.py"),
      `import os
from api_client import ApiClient, ApiException, Configuration, GroupInvitesApi, GroupsApi, ReposApi, RolesApi, Status
from api_client.models import BadRequestDetail, GroupInput, GroupInviteInput, RepoInput, RepoPatch

client = ApiClient(Configuration(host=os.environ["API"], access_token=os.environ["TOKEN"]))
groups, repos, invites = GroupsApi(client), ReposApi(client), GroupInvitesApi(client)

def error_of(call):
    try:
        call()
    except ApiException as error:
        return [detail.actual_instance for detail in Status.from_json(error.body).details]

group = groups.create_group(os.environ["ROOT"], GroupInput(name=os.environ["GROUP"]))
repo = repos.create_repo(group.uid, RepoInput(name="my-repo"))
changed = repos.update_repo(repo.uid, RepoPatch(description="Changed"))
page = repos.list_repos(uidp_descendants_of=group.uid, page_size=5, order_by="name desc")
repos.delete_repo(repo.uid)
gone = error_of(lambda: repos.get_repo(repo.uid))
viewer = RolesApi(client).list_roles(name="viewer").roles[0]
made = invites.create_group_invite(
    group.uid, GroupInviteInput(role_uid=viewer.uid, ttl="3600s", email="a@example.com")
)
invite = invites.get_group_invite(made.uid)
bad = error_of(
    lambda: invites.create_group_invite(group.uid, GroupInviteInput(role_uid="0" * 40, ttl="3600s"))
)
[field] = [v.var_field for d in bad if isinstance(d, BadRequestDetail) for v in d.field_violations]
result = [changed.name, changed.description, page.total_count, gone[0].reason]
print(*result, invite.role.name, invite.email, field)
`,
    );
    return { command: [interpreter, "tour.py"], cwd: folder };
  },
};

const go: Language = {
  name: "Go, by oapi-codegen",
  async prepare(folder) {
    const generator = goProgram("github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen", "v2.5.0");
    if (generator === undefined) return "oapi-codegen cannot be built";
    await mkdir(join(folder, "api"), { recursive: true });
    await run(
      generator,
      [
        "-response-type-suffix",
        "HTTPResponse",
        "-generate",
        "types,client",
        "-package",
        "api",
        "-o",
        "api/api.go",
        "openapi.json",
      ],
      {
        cwd: folder,
      },
    );
    await writeFile(join(folder, "go.mod"), "module example.com/tour\n\ngo 1.24\n");
    await writeFile(
      join(folder, "main.go"),
      `package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"example.com/tour/api"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	token := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	client, err := api.NewClientWithResponses(os.Getenv("API"), api.WithRequestEditorFn(token))
	check(err)
	group, err := client.CreateGroupWithResponse(ctx, os.Getenv("ROOT"), nil, api.GroupInput{Name: os.Getenv("GROUP")})
	check(err)
	repo, err := client.CreateRepoWithResponse(ctx, group.JSON200.Uid, nil, api.RepoInput{Name: "my-repo"})
	check(err)
	description := "Changed"
	changed, err := client.UpdateRepoWithResponse(ctx, repo.JSON200.Uid, nil, api.RepoPatch{Description: &description})
	check(err)
	size, order := int32(5), "name desc"
	list, err := client.ListReposWithResponse(ctx, &api.ListReposParams{UidpDescendantsOf: &group.JSON200.Uid, PageSize: &size, OrderBy: &order})
	check(err)
	_, err = client.DeleteRepoWithResponse(ctx, repo.JSON200.Uid, nil)
	check(err)
	gone, err := client.GetRepoWithResponse(ctx, repo.JSON200.Uid, nil)
	check(err)
	detail, err := gone.JSON404.Details[0].AsErrorInfoDetail()
	check(err)
	viewer := "viewer"
	roles, err := client.ListRolesWithResponse(ctx, &api.ListRolesParams{Name: &viewer})
	check(err)
	address := "a@example.com"
	body := api.GroupInviteInput{RoleUid: roles.JSON200.Roles[0].Uid, Ttl: "3600s", Email: &address}
	made, err := client.CreateGroupInviteWithResponse(ctx, group.JSON200.Uid, nil, body)
	check(err)
	invite, err := client.GetGroupInviteWithResponse(ctx, made.JSON200.Uid, nil)
	check(err)
	body.RoleUid = strings.Repeat("0", 40)
	bad, err := client.CreateGroupInviteWithResponse(ctx, group.JSON200.Uid, nil, body)
	check(err)
	violated := ""
	for _, detail := range bad.JSON400.Details {
		value, err := detail.ValueByDiscriminator()
		check(err)
		if request, ok := value.(api.BadRequestDetail); ok {
			violated = *(*request.FieldViolations)[0].Field
		}
	}
	fmt.Println(changed.JSON200.Name, changed.JSON200.Description, list.JSON200.TotalCount, *detail.Reason,
		invite.JSON200.Role.Name, invite.JSON200.Email, violated)
}
`,
    );
    await run("go", ["build", "-o", "tour", "."], { cwd: folder, env: { ...process.env, GOFLAGS: "-mod=mod" } });
    return { command: [join(folder, "tour")], cwd: folder };
  },
};

onOneServer("generated REST clients", (platform) => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "platform-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.for([typeScript, python, validatingPython, go])(
    "$name",
    { timeout: 600_000 },
    async ({ name, prepare }, { skip }) => {
      const place = join(folder, name.split(",")[0]!);
      await mkdir(place);
      await writeFile(join(place, "openapi.json"), await readOpenApi("v2", "json"));
      const prepared = await prepare(place);
      if (typeof prepared === "string") {
        console.log(`skipped: ${prepared}`);
        skip();
        return;
      }
      const [command, ...args] = prepared.command;
      const { baseUrl: API, admin: TOKEN, root: ROOT } = platform();
      const env = { ...process.env, API, TOKEN, ROOT, GROUP: name.split(",")[0]!.toLowerCase() };
      const { stdout } = await run(command!, args, { cwd: prepared.cwd, env });
      expect(stdout).toBe(expected);
    },
  );
});
