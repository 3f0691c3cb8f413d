"""Calls a server of the Platform API: PLATFORM_SERVER is its address, PLATFORM_TOKEN a token."""

import json
import os
import uuid
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import grpc
from google.protobuf.field_mask_pb2 import FieldMask
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, ResourceInfo
from grpc_status import rpc_status

from platform_api.common.uidp_filter_pb2 import UidpFilter
from platform_api.iam.v2.groups_pb2 import ListGroupsRequest
from platform_api.iam.v2.groups_pb2_grpc import GroupsServiceStub
from platform_api.ping.v2.ping_pb2 import PingRequest
from platform_api.ping.v2.ping_pb2_grpc import PingServiceStub
from platform_api.registry.v2.repos_pb2 import (
    CreateRepoRequest,
    DeleteRepoRequest,
    GetRepoRequest,
    ListReposRequest,
    Repo,
    UpdateRepoRequest,
)
from platform_api.registry.v2.repos_pb2_grpc import ReposServiceStub

# Seconds that a call may take, its retries included.
DEADLINE = 10

# Only UNAVAILABLE is safe to retry: the request was not carried out, or is repeated under its idempotency key.
SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.2s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}


def connect(server: str) -> grpc.Channel:
    """Opens a channel to http://HOST:PORT, or to https://HOST with TLS."""
    url = urlsplit(server)
    if url.scheme not in ("http", "https"):
        raise ValueError(f"{server} is not an http or https URL")
    is_secure = url.scheme == "https"
    address = url.netloc if url.port else f"{url.netloc}:{443 if is_secure else 80}"
    options = [("grpc.service_config", json.dumps(SERVICE_CONFIG))]
    if is_secure:
        return grpc.secure_channel(address, grpc.ssl_channel_credentials(), options)
    return grpc.insecure_channel(address, options)


def list_repos(repos: ReposServiceStub, request: ListReposRequest, metadata: list) -> Iterator[Repo]:
    """All repos that match, page after page."""
    while True:
        page = repos.ListRepos(request, timeout=DEADLINE, metadata=metadata)
        yield from page.repos
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token


def failure(call: Callable[[], object]) -> str:
    """What a call that must fail is answered: the code and the typed details."""
    try:
        call()
    except grpc.RpcError as error:
        lines = [error.code().name]
        for packed in rpc_status.from_call(error).details:
            info, request, resource = ErrorInfo(), BadRequest(), ResourceInfo()
            if packed.Unpack(info):
                lines.append(f"reason: {info.reason}")
            if packed.Unpack(request):
                lines += [f"field {one.field}: {one.description}" for one in request.field_violations]
            if packed.Unpack(resource):
                lines.append(f"resource: {resource.resource_type}")
        return "\n  ".join(lines)
    raise AssertionError("the call did not fail")


def main() -> None:
    token = os.environ.get("PLATFORM_TOKEN")
    if not token:
        raise SystemExit("PLATFORM_TOKEN is not set")
    bearer = [("authorization", f"Bearer {token}")]
    common = {"timeout": DEADLINE, "metadata": bearer}
    with connect(os.environ.get("PLATFORM_SERVER", "http://127.0.0.1:8080")) as channel:
        print("ping:", PingServiceStub(channel).Ping(PingRequest(), timeout=DEADLINE).response)

        groups = GroupsServiceStub(channel).ListGroups(ListGroupsRequest(uidp=UidpFilter(in_root=True)), **common)
        root = groups.groups[0].uid
        repos = ReposServiceStub(channel)

        run = f"tour-{uuid.uuid4().hex[:8]}"
        created = []
        for name in ("one", "two", "three"):
            # With an idempotency key a create that is sent again is carried out once.
            key = [("idempotency-key", str(uuid.uuid4()))]
            request = CreateRepoRequest(parent=root, repo=Repo(name=f"{run}/{name}", description="First"))
            created.append(repos.CreateRepo(request, timeout=DEADLINE, metadata=bearer + key))
        print("created:", len(created))

        request = ListReposRequest(uidp=UidpFilter(children_of=root), page_size=2, order_by="name")
        mine = [repo.name for repo in list_repos(repos, request, bearer) if repo.name.startswith(run)]
        print("listed:", ", ".join(name.removeprefix(f"{run}/") for name in mine))

        repo = repos.GetRepo(GetRepoRequest(uid=created[0].uid), **common)
        print("got:", repo.description)

        # The mask names what changes; the etag guards against overwriting a change made in between.
        mask = FieldMask(paths=["description"])
        change = Repo(uid=repo.uid, description="Second", etag=repo.etag)
        print("updated:", repos.UpdateRepo(UpdateRepoRequest(repo=change, update_mask=mask), **common).description)
        stale = UpdateRepoRequest(repo=change, update_mask=mask)
        print("stale etag:", failure(lambda: repos.UpdateRepo(stale, **common)))

        invalid = CreateRepoRequest(parent=root, repo=Repo(name="Not A Name"))
        print("wrong name:", failure(lambda: repos.CreateRepo(invalid, **common)))
        wrong = {"timeout": DEADLINE, "metadata": [("authorization", "Bearer wrong")]}
        print("wrong token:", failure(lambda: repos.ListRepos(ListReposRequest(), **wrong)))

        for one in created:
            repos.DeleteRepo(DeleteRepoRequest(uid=one.uid), **common)
        print("deleted:", len(created))
        print("gone:", failure(lambda: repos.GetRepo(GetRepoRequest(uid=repo.uid), **common)))


if __name__ == "__main__":
    main()
