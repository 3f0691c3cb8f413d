//! Servers in Rust, with the same statements, an access log and a cached token check: `axum` and `tonic`, each on one
//! thread.
use std::{
    collections::HashMap,
    io::{BufWriter, Stderr, Write},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

use axum::{
    Json, Router,
    extract::{Path, Query, Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use rusqlite::{Connection, OpenFlags, Row, params};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tonic::Status;

mod repos {
    tonic::include_proto!("platform.registry.v2");
}

const PAGE_SIZE: usize = 50;
const GET: &str = "select uid, name, description, create_time_us, update_time_us from repos where uid = ?";
const PAGE: &str = "select uid, name, description, create_time_us, update_time_us from repos \
    where uid > ? and uid < ? order by uid limit 51";
const COUNT: &str = "select count from counts where parent = ?";

struct Repo {
    uid: String,
    name: String,
    description: String,
    create_time_us: i64,
    update_time_us: i64,
}

struct Page {
    repos: Vec<Repo>,
    next_page_token: Option<String>,
    total: i64,
}

struct Caller {
    _subject: String,
    expires_at: SystemTime,
}

struct Server {
    database: Mutex<Connection>,
    known: HashMap<String, Caller>,
    log: Mutex<BufWriter<Stderr>>,
}

impl Server {
    fn open(path: &str, token: &str) -> rusqlite::Result<Self> {
        let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        database.pragma_update(None, "cache_size", -65536)?;
        let caller = Caller {
            _subject: "bench".to_string(),
            expires_at: SystemTime::now() + Duration::from_secs(86_400),
        };
        Ok(Self {
            database: Mutex::new(database),
            known: HashMap::from([(token.to_string(), caller)]),
            log: Mutex::new(BufWriter::with_capacity(4096, std::io::stderr())),
        })
    }

    fn is_known(&self, authorization: Option<&str>) -> bool {
        let token = authorization.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or("");
        self.known.get(token).is_some_and(|caller| caller.expires_at > SystemTime::now())
    }

    fn note(&self, method: &str, started: Instant) {
        #[derive(Serialize)]
        struct Line<'a> {
            level: u8,
            time: u128,
            method: &'a str,
            ms: f64,
            msg: &'a str,
        }
        let time = SystemTime::UNIX_EPOCH.elapsed().map(|since| since.as_millis()).unwrap_or(0);
        let line = Line { level: 30, time, method, ms: started.elapsed().as_secs_f64() * 1000.0, msg: "call" };
        let mut log = self.log.lock().unwrap();
        serde_json::to_writer(&mut *log, &line).and_then(|()| Ok(log.write_all(b"\n").unwrap())).unwrap();
    }

    fn get(&self, uid: &str) -> rusqlite::Result<Repo> {
        self.database.lock().unwrap().prepare_cached(GET)?.query_row(params![uid], repo_in)
    }

    fn list(&self, root: &str) -> rusqlite::Result<Page> {
        let database = self.database.lock().unwrap();
        let mut statement = database.prepare_cached(PAGE)?;
        let found = statement.query_map(params![format!("{root}/"), format!("{root}0")], repo_in)?;
        let mut repos = found.collect::<rusqlite::Result<Vec<_>>>()?;
        let total = database.prepare_cached(COUNT)?.query_row(params![root], |row| row.get(0))?;
        let has_more = repos.len() > PAGE_SIZE;
        repos.truncate(PAGE_SIZE);
        let next_page_token = repos.last().filter(|_| has_more).map(|last| BASE64_URL_SAFE_NO_PAD.encode(&last.uid));
        Ok(Page { repos, next_page_token, total })
    }
}

fn repo_in(row: &Row) -> rusqlite::Result<Repo> {
    Ok(Repo {
        uid: row.get(0)?,
        name: row.get(1)?,
        description: row.get(2)?,
        create_time_us: row.get(3)?,
        update_time_us: row.get(4)?,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RepoJson {
    uid: String,
    name: String,
    description: String,
    catalog_tier: &'static str,
    bundles: [&'static str; 0],
    aliases: [&'static str; 0],
    active_tags: [&'static str; 0],
    create_time: String,
    update_time: String,
    etag: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageJson {
    repos: Vec<RepoJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
    total_count: String,
    skipped: u32,
}

impl From<Repo> for RepoJson {
    fn from(repo: Repo) -> Self {
        let time_of = |us: i64| {
            let time = chrono::DateTime::from_timestamp_micros(us).unwrap_or_default();
            time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
        };
        Self {
            uid: repo.uid,
            name: repo.name,
            description: repo.description,
            catalog_tier: "CATALOG_TIER_UNSPECIFIED",
            bundles: [],
            aliases: [],
            active_tags: [],
            create_time: time_of(repo.create_time_us),
            update_time: time_of(repo.update_time_us),
            etag: "\"abc-1\"",
        }
    }
}

async fn get_repo(State(server): State<Arc<Server>>, Path(uid): Path<String>) -> Response {
    match server.get(&uid) {
        Ok(repo) => Json(RepoJson::from(repo)).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

#[derive(Deserialize)]
struct Filter {
    #[serde(rename = "uidp.descendants_of")]
    root: String,
}

async fn list_repos(State(server): State<Arc<Server>>, Query(filter): Query<Filter>) -> Response {
    let Ok(Page { repos, next_page_token, total }) = server.list(&filter.root) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let repos = repos.into_iter().map(RepoJson::from).collect();
    Json(PageJson { repos, next_page_token, total_count: total.to_string(), skipped: 0 }).into_response()
}

/// The token check and the access log.
async fn check(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    if !server.is_known(request.headers().get("authorization").and_then(|value| value.to_str().ok())) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let path = request.uri().path().to_string();
    let response = next.run(request).await;
    server.note(&path, started);
    response
}

struct Service(Arc<Server>);

impl Service {
    fn begin<T>(&self, request: &tonic::Request<T>) -> Result<Instant, Status> {
        let started = Instant::now();
        let authorization = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        if self.0.is_known(authorization) { Ok(started) } else { Err(Status::unauthenticated("invalid bearer token")) }
    }
}

impl From<Repo> for repos::Repo {
    fn from(repo: Repo) -> Self {
        let time_of = |us: i64| prost_types::Timestamp {
            seconds: us.div_euclid(1_000_000),
            nanos: (us.rem_euclid(1_000_000) * 1000) as i32,
        };
        Self {
            uid: repo.uid,
            name: repo.name,
            description: repo.description,
            create_time: Some(time_of(repo.create_time_us)),
            update_time: Some(time_of(repo.update_time_us)),
            etag: "\"abc-1\"".to_string(),
            ..Default::default()
        }
    }
}

#[tonic::async_trait]
impl repos::repos_service_server::ReposService for Service {
    async fn get_repo(
        &self,
        request: tonic::Request<repos::GetRepoRequest>,
    ) -> Result<tonic::Response<repos::Repo>, Status> {
        let started = self.begin(&request)?;
        let repo = self.0.get(&request.get_ref().uid).map_err(|_| Status::not_found("not found"))?;
        self.0.note("GetRepo", started);
        Ok(tonic::Response::new(repo.into()))
    }

    async fn list_repos(
        &self,
        request: tonic::Request<repos::ListReposRequest>,
    ) -> Result<tonic::Response<repos::ListReposResponse>, Status> {
        let started = self.begin(&request)?;
        let filter = request.into_inner().uidp.unwrap_or_default();
        let Page { repos, next_page_token, total } =
            self.0.list(filter.descendants_of()).map_err(|error| Status::internal(error.to_string()))?;
        self.0.note("ListRepos", started);
        Ok(tonic::Response::new(repos::ListReposResponse {
            repos: repos.into_iter().map(Into::into).collect(),
            next_page_token,
            total_count: Some(total),
            skipped: 0,
        }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let server = Arc::new(Server::open(&arguments[2], &arguments[3])?);
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    println!("{{\"port\":{}}}", listener.local_addr()?.port());
    if arguments[1] == "tonic" {
        let service = repos::repos_service_server::ReposServiceServer::new(Service(server));
        let incoming = tonic::transport::server::TcpIncoming::from(listener).with_nodelay(Some(true));
        tonic::transport::Server::builder().add_service(service).serve_with_incoming(incoming).await?;
    } else {
        let routes = Router::new()
            .route("/registry/v2/repos", get(list_repos))
            .route("/registry/v2/repos/{*uid}", get(get_repo))
            .layer(middleware::from_fn_with_state(server.clone(), check))
            .with_state(server);
        axum::serve(listener, routes).await?;
    }
    Ok(())
}
