// Calls a server of the Platform API: PLATFORM_SERVER is its address, PLATFORM_TOKEN a token.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"log"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"example.com/tour/platform/common"
	iamv2 "example.com/tour/platform/iam/v2"
	pingv2 "example.com/tour/platform/ping/v2"
	registryv2 "example.com/tour/platform/registry/v2"
)

// How long a call may take, its retries included.
const deadline = 10 * time.Second

// Only UNAVAILABLE is safe to retry: the request was not carried out, or is repeated under its idempotency key.
const serviceConfig = `{"methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 4, "initialBackoff": "0.2s", "maxBackoff": "2s", "backoffMultiplier": 2,
	"retryableStatusCodes": ["UNAVAILABLE"]
}}]}`

// Opens a connection to http://HOST:PORT, or to https://HOST with TLS. Each call has a deadline, and the token unless
// its context has one.
func connect(server, token string) (*grpc.ClientConn, error) {
	address, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	if address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("%s is not an http or https URL", server)
	}
	transport, port := insecure.NewCredentials(), "80"
	if address.Scheme == "https" {
		transport, port = credentials.NewTLS(&tls.Config{}), "443"
	}
	withToken := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		if sent, _ := metadata.FromOutgoingContext(ctx); len(sent.Get("authorization")) == 0 {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		}
		return invoke(ctx, method, request, reply, conn, options...)
	}
	return grpc.NewClient(net.JoinHostPort(address.Hostname(), cmp.Or(address.Port(), port)),
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithUnaryInterceptor(withToken))
}

// All repos that match, page after page.
func listRepos(
	ctx context.Context, repos registryv2.ReposServiceClient, request *registryv2.ListReposRequest,
) iter.Seq2[*registryv2.Repo, error] {
	return func(yield func(*registryv2.Repo, error) bool) {
		for {
			page, err := repos.ListRepos(ctx, request)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, repo := range page.Repos {
				if !yield(repo, nil) {
					return
				}
			}
			if page.GetNextPageToken() == "" {
				return
			}
			request.PageToken = page.GetNextPageToken()
		}
	}
}

// What a call that must fail is answered: the code and the typed details.
func failure(err error) string {
	if err == nil {
		panic("the call did not fail")
	}
	answer := status.Convert(err)
	lines := []string{code.Code(answer.Code()).String()}
	for _, detail := range answer.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			lines = append(lines, "reason: "+detail.Reason)
		case *errdetails.BadRequest:
			for _, one := range detail.FieldViolations {
				lines = append(lines, fmt.Sprintf("field %s: %s", one.Field, one.Description))
			}
		case *errdetails.ResourceInfo:
			lines = append(lines, "resource: "+detail.ResourceType)
		}
	}
	return strings.Join(lines, "\n  ")
}

func tour(ctx context.Context) error {
	token := os.Getenv("PLATFORM_TOKEN")
	if token == "" {
		return errors.New("PLATFORM_TOKEN is not set")
	}
	conn, err := connect(cmp.Or(os.Getenv("PLATFORM_SERVER"), "http://127.0.0.1:8080"), token)
	if err != nil {
		return err
	}
	defer conn.Close()

	pong, err := pingv2.NewPingServiceClient(conn).Ping(ctx, &pingv2.PingRequest{})
	if err != nil {
		return err
	}
	fmt.Println("ping:", pong.Response)

	inRoot := &iamv2.ListGroupsRequest{Uidp: &common.UidpFilter{InRoot: true}}
	groups, err := iamv2.NewGroupsServiceClient(conn).ListGroups(ctx, inRoot)
	if err != nil {
		return err
	}
	root := groups.Groups[0].Uid
	repos := registryv2.NewReposServiceClient(conn)

	run := "tour-" + strings.ToLower(rand.Text()[:8])
	var created []*registryv2.Repo
	for _, name := range []string{"one", "two", "three"} {
		// With an idempotency key a create that is sent again is carried out once.
		once := metadata.AppendToOutgoingContext(ctx, "idempotency-key", rand.Text())
		repo := &registryv2.Repo{Name: run + "/" + name, Description: "First"}
		repo, err := repos.CreateRepo(once, &registryv2.CreateRepoRequest{Parent: root, Repo: repo})
		if err != nil {
			return err
		}
		created = append(created, repo)
	}
	fmt.Println("created:", len(created))

	var mine []string
	below := &registryv2.ListReposRequest{Uidp: &common.UidpFilter{ChildrenOf: &root}, PageSize: 2, OrderBy: "name"}
	for repo, err := range listRepos(ctx, repos, below) {
		if err != nil {
			return err
		}
		if name, ok := strings.CutPrefix(repo.Name, run+"/"); ok {
			mine = append(mine, name)
		}
	}
	fmt.Println("listed:", strings.Join(mine, ", "))

	repo, err := repos.GetRepo(ctx, &registryv2.GetRepoRequest{Uid: created[0].Uid})
	if err != nil {
		return err
	}
	fmt.Println("got:", repo.Description)

	// The mask names what changes; the etag guards against overwriting a change made in between.
	change := &registryv2.UpdateRepoRequest{
		Repo:       &registryv2.Repo{Uid: repo.Uid, Description: "Second", Etag: repo.Etag},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"description"}},
	}
	updated, err := repos.UpdateRepo(ctx, change)
	if err != nil {
		return err
	}
	fmt.Println("updated:", updated.Description)
	_, err = repos.UpdateRepo(ctx, change)
	fmt.Println("stale etag:", failure(err))

	invalid := &registryv2.CreateRepoRequest{Parent: root, Repo: &registryv2.Repo{Name: "Not A Name"}}
	_, err = repos.CreateRepo(ctx, invalid)
	fmt.Println("wrong name:", failure(err))
	wrong := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer wrong")
	_, err = repos.ListRepos(wrong, &registryv2.ListReposRequest{})
	fmt.Println("wrong token:", failure(err))

	for _, one := range created {
		if _, err := repos.DeleteRepo(ctx, &registryv2.DeleteRepoRequest{Uid: one.Uid}); err != nil {
			return err
		}
	}
	fmt.Println("deleted:", len(created))
	_, err = repos.GetRepo(ctx, &registryv2.GetRepoRequest{Uid: repo.Uid})
	fmt.Println("gone:", failure(err))
	return nil
}

func main() {
	log.SetFlags(0)
	if err := tour(context.Background()); err != nil {
		log.Fatal(err)
	}
}
