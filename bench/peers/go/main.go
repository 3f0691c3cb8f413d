// Servers in Go, with the same statements, an access log and a cached token check:
//
//	net-http      bare net/http and encoding/json
//	grpc-go       google.golang.org/grpc
//	connect-go    connectrpc.com/connect
//	grpc-gateway  grpc-gateway in the process of its service
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	_ "github.com/mattn/go-sqlite3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"platform.internal/bench/repos"
	"platform.internal/bench/repos/reposconnect"
)

// accessLog writes lines to standard error, 4 KiB at a time, and each second.
type accessLog struct {
	sync.Mutex
	buffer *bufio.Writer
}

func (l *accessLog) Write(line []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.buffer.Write(line)
}

func (l *accessLog) flushEverySecond() {
	for range time.Tick(time.Second) {
		l.Lock()
		l.buffer.Flush()
		l.Unlock()
	}
}

type caller struct {
	subject   string
	expiresAt time.Time
}

type server struct {
	get, page, count *sql.Stmt
	known            map[string]caller
	log              *slog.Logger
}

type row struct {
	uid, name, description   string
	createTimeUs, updateTime int64
}

const columns = "uid, name, description, create_time_us, update_time_us"
const pageSize = 50

func open(path, token string) *server {
	database := must(sql.Open("sqlite3", "file:"+path+"?mode=ro&_cache_size=-65536"))
	lines := &accessLog{buffer: bufio.NewWriterSize(os.Stderr, 4096)}
	go lines.flushEverySecond()
	return &server{
		get:   must(database.Prepare("select " + columns + " from repos where uid = ?")),
		page:  must(database.Prepare("select " + columns + " from repos where uid > ? and uid < ? order by uid limit 51")),
		count: must(database.Prepare("select count from counts where parent = ?")),
		known: map[string]caller{token: {"bench", time.Now().Add(24 * time.Hour)}},
		log:   slog.New(slog.NewJSONHandler(lines, nil)),
	}
}

func (s *server) isKnown(authorization string) bool {
	found, ok := s.known[strings.TrimPrefix(authorization, "Bearer ")]
	return ok && found.expiresAt.After(time.Now())
}

func (s *server) repo(uid string) (row, error) {
	var r row
	err := s.get.QueryRow(uid).Scan(&r.uid, &r.name, &r.description, &r.createTimeUs, &r.updateTime)
	return r, err
}

// list returns the first repos below the root, the token of the next page, and the total.
func (s *server) list(root string) ([]row, string, int64, error) {
	found, err := s.page.Query(root+"/", root+"0")
	if err != nil {
		return nil, "", 0, err
	}
	defer found.Close()
	rows := make([]row, 0, pageSize+1)
	for found.Next() {
		var r row
		if err := found.Scan(&r.uid, &r.name, &r.description, &r.createTimeUs, &r.updateTime); err != nil {
			return nil, "", 0, err
		}
		rows = append(rows, r)
	}
	if err := found.Err(); err != nil {
		return nil, "", 0, err
	}
	var total int64
	if err := s.count.QueryRow(root).Scan(&total); err != nil {
		return nil, "", 0, err
	}
	if len(rows) <= pageSize {
		return rows, "", total, nil
	}
	rows = rows[:pageSize]
	return rows, base64.RawURLEncoding.EncodeToString([]byte(rows[pageSize-1].uid)), total, nil
}

// The JSON of bare net/http.
type repoJSON struct {
	UID         string   `json:"uid"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	CatalogTier string   `json:"catalogTier"`
	Bundles     []string `json:"bundles"`
	Aliases     []string `json:"aliases"`
	ActiveTags  []string `json:"activeTags"`
	CreateTime  string   `json:"createTime"`
	UpdateTime  string   `json:"updateTime"`
	Etag        string   `json:"etag"`
}

type listJSON struct {
	Repos         []repoJSON `json:"repos"`
	NextPageToken string     `json:"nextPageToken,omitempty"`
	TotalCount    string     `json:"totalCount"`
	Skipped       int        `json:"skipped"`
}

func toJSON(r row) repoJSON {
	timeOf := func(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02T15:04:05.000Z") }
	none := []string{}
	return repoJSON{r.uid, r.name, r.description, "CATALOG_TIER_UNSPECIFIED", none, none, none,
		timeOf(r.createTimeUs), timeOf(r.updateTime), `"abc-1"`}
}

func (s *server) netHTTP() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any, err error) {
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		body, _ := json.Marshal(value)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body)
	}
	mux.HandleFunc("GET /registry/v2/repos/{uid...}", func(w http.ResponseWriter, r *http.Request) {
		found, err := s.repo(r.PathValue("uid"))
		answer(w, toJSON(found), err)
	})
	mux.HandleFunc("GET /registry/v2/repos", func(w http.ResponseWriter, r *http.Request) {
		rows, next, total, err := s.list(r.URL.Query().Get("uidp.descendants_of"))
		all := make([]repoJSON, len(rows))
		for i, each := range rows {
			all[i] = toJSON(each)
		}
		answer(w, listJSON{all, next, fmt.Sprint(total), 0}, err)
	})
	return s.checked(mux)
}

// checked adds the token check and the access log to HTTP.
func (s *server) checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		if !s.isKnown(r.Header.Get("Authorization")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
		s.log.Info("call", "method", r.Method, "url", r.URL.Path, "ms", time.Since(started).Seconds()*1000)
	})
}

func toMessage(r row) *repos.Repo {
	return &repos.Repo{Uid: r.uid, Name: r.name, Description: r.description, Etag: `"abc-1"`,
		CreateTime: timestamppb.New(time.UnixMicro(r.createTimeUs)), UpdateTime: timestamppb.New(time.UnixMicro(r.updateTime))}
}

func (s *server) GetRepo(_ context.Context, request *repos.GetRepoRequest) (*repos.Repo, error) {
	found, err := s.repo(request.Uid)
	if err != nil {
		return nil, status.Error(codes.NotFound, "not found")
	}
	return toMessage(found), nil
}

func (s *server) ListRepos(_ context.Context, request *repos.ListReposRequest) (*repos.ListReposResponse, error) {
	rows, next, total, err := s.list(request.GetUidp().GetDescendantsOf())
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	all := make([]*repos.Repo, len(rows))
	for i, each := range rows {
		all[i] = toMessage(each)
	}
	return &repos.ListReposResponse{Repos: all, NextPageToken: &next, TotalCount: &total}, nil
}

// grpcService has the name of the gRPC interface's unimplemented methods.
type grpcService struct {
	repos.UnimplementedReposServiceServer
	*server
}

func (g grpcService) GetRepo(c context.Context, r *repos.GetRepoRequest) (*repos.Repo, error) {
	return g.server.GetRepo(c, r)
}

func (g grpcService) ListRepos(c context.Context, r *repos.ListReposRequest) (*repos.ListReposResponse, error) {
	return g.server.ListRepos(c, r)
}

type connectService struct{ *server }

func (c connectService) GetRepo(ctx context.Context, r *connect.Request[repos.GetRepoRequest]) (*connect.Response[repos.Repo], error) {
	message, err := c.server.GetRepo(ctx, r.Msg)
	return connect.NewResponse(message), err
}

func (c connectService) ListRepos(ctx context.Context, r *connect.Request[repos.ListReposRequest]) (*connect.Response[repos.ListReposResponse], error) {
	message, err := c.server.ListRepos(ctx, r.Msg)
	return connect.NewResponse(message), err
}

func (s *server) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	started := time.Now()
	fields, _ := metadata.FromIncomingContext(ctx)
	if values := fields.Get("authorization"); len(values) == 0 || !s.isKnown(values[0]) {
		return nil, status.Error(codes.Unauthenticated, "invalid bearer token")
	}
	message, err := handle(ctx, request)
	s.log.Info("call", "method", info.FullMethod, "ms", time.Since(started).Seconds()*1000)
	return message, err
}

func main() {
	kind, path, token := os.Args[1], os.Args[2], os.Args[3]
	s := open(path, token)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Printf("{\"port\":%d}\n", listener.Addr().(*net.TCPAddr).Port)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	serve := func(handler http.Handler) {
		panic((&http.Server{Handler: handler, Protocols: protocols}).Serve(listener))
	}
	switch kind {
	case "net-http":
		serve(s.netHTTP())
	case "grpc-go":
		g := grpc.NewServer(grpc.UnaryInterceptor(s.intercept))
		repos.RegisterReposServiceServer(g, grpcService{server: s})
		panic(g.Serve(listener))
	case "connect-go":
		mux := http.NewServeMux()
		mux.Handle(reposconnect.NewReposServiceHandler(connectService{s}))
		serve(s.checked(mux))
	case "grpc-gateway":
		mux := runtime.NewServeMux()
		if err := repos.RegisterReposServiceHandlerServer(context.Background(), mux, grpcService{server: s}); err != nil {
			panic(err)
		}
		serve(s.checked(mux))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
