package tour;

import static java.util.stream.Collectors.joining;

import com.google.protobuf.FieldMask;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.ResourceInfo;
import dev.platform.api.common.UidpFilter;
import dev.platform.api.iam.v2.GroupsServiceGrpc;
import dev.platform.api.iam.v2.ListGroupsRequest;
import dev.platform.api.ping.v2.PingRequest;
import dev.platform.api.ping.v2.PingServiceGrpc;
import dev.platform.api.registry.v2.CreateRepoRequest;
import dev.platform.api.registry.v2.DeleteRepoRequest;
import dev.platform.api.registry.v2.GetRepoRequest;
import dev.platform.api.registry.v2.ListReposRequest;
import dev.platform.api.registry.v2.ListReposResponse;
import dev.platform.api.registry.v2.Repo;
import dev.platform.api.registry.v2.ReposServiceGrpc;
import dev.platform.api.registry.v2.ReposServiceGrpc.ReposServiceBlockingStub;
import dev.platform.api.registry.v2.UpdateRepoRequest;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** Calls a server of the Platform API: PLATFORM_SERVER is its address, PLATFORM_TOKEN a token. */
public final class Tour {
  /** How long a call may take, its retries included. */
  private static final int DEADLINE_SECONDS = 10;

  /** Only UNAVAILABLE is safe to retry: the request was not carried out, or is repeated under its idempotency key. */
  private static final Map<String, ?> SERVICE_CONFIG =
      Map.of(
          "methodConfig",
          List.of(
              Map.of(
                  "name",
                  List.of(Map.of()),
                  "retryPolicy",
                  Map.of(
                      "maxAttempts", 4.0,
                      "initialBackoff", "0.2s",
                      "maxBackoff", "2s",
                      "backoffMultiplier", 2.0,
                      "retryableStatusCodes", List.of("UNAVAILABLE")))));

  public static void main(String[] args) throws InterruptedException, InvalidProtocolBufferException {
    var server = System.getenv().getOrDefault("PLATFORM_SERVER", "http://127.0.0.1:8080");
    var token = System.getenv().getOrDefault("PLATFORM_TOKEN", "");
    if (token.isEmpty()) throw new IllegalStateException("PLATFORM_TOKEN is not set");
    var channel = connect(URI.create(server));
    try {
      tour(channel, token);
    } finally {
      channel.shutdownNow().awaitTermination(DEADLINE_SECONDS, TimeUnit.SECONDS);
    }
  }

  /** Opens a channel to http://HOST:PORT, or to https://HOST with TLS. */
  private static ManagedChannel connect(URI server) {
    var isSecure = "https".equals(server.getScheme());
    if (!isSecure && !"http".equals(server.getScheme()))
      throw new IllegalArgumentException(server + " is not an http or https URL");
    var port = server.getPort() != -1 ? server.getPort() : isSecure ? 443 : 80;
    var credentials = isSecure ? TlsChannelCredentials.create() : InsecureChannelCredentials.create();
    return Grpc.newChannelBuilderForAddress(server.getHost(), port, credentials)
        .defaultServiceConfig(SERVICE_CONFIG)
        .intercept(new Deadline())
        .build();
  }

  /** Gives every call a deadline, counted from its start. */
  private static final class Deadline implements ClientInterceptor {
    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      return next.newCall(method, options.withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS));
    }
  }

  /** Sends a token with every call of a stub. */
  private static final class Bearer extends CallCredentials {
    private final String token;

    Bearer(String token) {
      this.token = token;
    }

    @Override
    public void applyRequestMetadata(RequestInfo request, Executor executor, MetadataApplier applier) {
      applier.apply(header("authorization", "Bearer " + token));
    }
  }

  private static Metadata header(String name, String value) {
    var headers = new Metadata();
    headers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
    return headers;
  }

  /** All repos that match, page after page. */
  private static List<Repo> listRepos(ReposServiceBlockingStub repos, ListReposRequest request) {
    var found = new ArrayList<Repo>();
    ListReposResponse page;
    do {
      page = repos.listRepos(request);
      found.addAll(page.getReposList());
      request = request.toBuilder().setPageToken(page.getNextPageToken()).build();
    } while (!page.getNextPageToken().isEmpty());
    return found;
  }

  /** What a call that must fail is answered: the code and the typed details. */
  private static String failure(Runnable call) throws InvalidProtocolBufferException {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      var lines = new ArrayList<String>();
      lines.add(error.getStatus().getCode().name());
      for (var detail : StatusProto.fromThrowable(error).getDetailsList()) {
        if (detail.is(ErrorInfo.class)) lines.add("reason: " + detail.unpack(ErrorInfo.class).getReason());
        if (detail.is(BadRequest.class))
          for (var one : detail.unpack(BadRequest.class).getFieldViolationsList())
            lines.add("field " + one.getField() + ": " + one.getDescription());
        if (detail.is(ResourceInfo.class))
          lines.add("resource: " + detail.unpack(ResourceInfo.class).getResourceType());
      }
      return String.join("\n  ", lines);
    }
    throw new IllegalStateException("the call did not fail");
  }

  private static void tour(ManagedChannel channel, String token) throws InvalidProtocolBufferException {
    var pong = PingServiceGrpc.newBlockingStub(channel).ping(PingRequest.getDefaultInstance());
    System.out.println("ping: " + pong.getResponse());

    var bearer = new Bearer(token);
    var groups = GroupsServiceGrpc.newBlockingStub(channel).withCallCredentials(bearer);
    var inRoot = ListGroupsRequest.newBuilder().setUidp(UidpFilter.newBuilder().setInRoot(true)).build();
    var root = groups.listGroups(inRoot).getGroups(0).getUid();
    var repos = ReposServiceGrpc.newBlockingStub(channel).withCallCredentials(bearer);

    var run = "tour-" + UUID.randomUUID().toString().substring(0, 8);
    var created = new ArrayList<Repo>();
    for (var name : List.of("one", "two", "three")) {
      // With an idempotency key a create that is sent again is carried out once.
      var key = header("idempotency-key", UUID.randomUUID().toString());
      var once = repos.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(key));
      var repo = Repo.newBuilder().setName(run + "/" + name).setDescription("First");
      created.add(once.createRepo(CreateRepoRequest.newBuilder().setParent(root).setRepo(repo).build()));
    }
    System.out.println("created: " + created.size());

    var below = UidpFilter.newBuilder().setChildrenOf(root);
    var pages = ListReposRequest.newBuilder().setUidp(below).setPageSize(2).setOrderBy("name").build();
    var mine = listRepos(repos, pages).stream().map(Repo::getName).filter(name -> name.startsWith(run));
    System.out.println("listed: " + mine.map(name -> name.substring(run.length() + 1)).collect(joining(", ")));

    var first = GetRepoRequest.newBuilder().setUid(created.get(0).getUid()).build();
    var repo = repos.getRepo(first);
    System.out.println("got: " + repo.getDescription());

    // The mask names what changes; the etag guards against overwriting a change made in between.
    var change =
        UpdateRepoRequest.newBuilder()
            .setRepo(Repo.newBuilder().setUid(repo.getUid()).setDescription("Second").setEtag(repo.getEtag()))
            .setUpdateMask(FieldMask.newBuilder().addPaths("description"))
            .build();
    System.out.println("updated: " + repos.updateRepo(change).getDescription());
    System.out.println("stale etag: " + failure(() -> repos.updateRepo(change)));

    var invalid =
        CreateRepoRequest.newBuilder().setParent(root).setRepo(Repo.newBuilder().setName("Not A Name")).build();
    System.out.println("wrong name: " + failure(() -> repos.createRepo(invalid)));
    var wrong = repos.withCallCredentials(new Bearer("wrong"));
    System.out.println("wrong token: " + failure(() -> wrong.listRepos(ListReposRequest.getDefaultInstance())));

    for (var one : created) repos.deleteRepo(DeleteRepoRequest.newBuilder().setUid(one.getUid()).build());
    System.out.println("deleted: " + created.size());
    System.out.println("gone: " + failure(() -> repos.getRepo(first)));
  }
}
