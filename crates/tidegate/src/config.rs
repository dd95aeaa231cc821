//! Reads and checks the configuration of the whole process, and makes the `Plan` of it.
//!
//! Each role checks its own section. `node`, `umask`, `cores` and `events`, and what several
//! sections must agree on, are checked here; the modules below have a section each. Doc comments
//! are the printed reference, so a default stands in them, in the code, and often on a page of
//! docs/operating.
//! Those of `[events]` are in `pipeline/src/config.rs`, and their defaults here.
//! Invariant: every section is optional, and there is a plan only without a problem. All problems
//! come out together, in the order of lines, each with line and key where known. Relative paths are
//! taken from `root`, which is the file's directory unless the file says otherwise.
//! Secrets that it names are put in before it is checked (`credentials.rs`).
//! `PORT`, `MAX_WORKERS` and `TIMEOUT` give defaults; `TIDEGATE_ADMIN_TOKEN` wins over the file.
//! `sinks::open` checks the addresses of sinks, and `commands/notes.rs` says which files are
//! missing.
//! `Config` gives only the schema: a new section also needs its name in `SECTIONS`, and `check`
//! must read it. The default of `listen.admin` is `USUAL_ADMIN` in `commands.rs` as well, and in
//! the help of `cli.rs`. A new listener goes into the list of `check_addresses`. A secret key also
//! goes into `commands/redact.rs`, and a renamed one into `crates/chassis/src/config/renamed.rs`.

pub(crate) mod agreement;
mod audit;
mod journal;
mod listen;
mod root;
mod trusted;
mod values;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chassis::config::{Document, Problem};
use gateway::config::{LimitsConfig, ResolverConfig, RouteConfig, StoreConfig, UpstreamConfig};
use gateway::{ModelNames, PoolUpstream};
use pipeline::config::{EventsConfig, FieldConfig, RollupConfig, SinkConfig, SourceConfig};
use profiles::config::{Config as ProfilesConfig, Plan as ProfilesPlan};
use profiles::{ProfileFile, UserKey};
use schemars::JsonSchema;
use serde::Deserialize;
use serving::{ModelConfig, ModelPlans, ProfileNames};
use statsd::config::Config as StatsdConfig;
use stdx::{ByteSize, Span};
use workers::config::{Defaults, PoolConfig};

use self::agreement::threads;
pub(crate) use self::audit::AuditConfig;
use self::journal::JournalConfig;
pub(crate) use self::journal::JournalPlan;
use self::listen::ListenConfig;
use self::values::{address, value, variable};

use crate::credentials;
use crate::environment;
use crate::umask::Umask;
use crate::wrong_config::WrongConfig;

/// Every section, as it may stand in the file.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Directory where relative paths start, such as `/var/lib/tidegate`; default: that of this
    /// file.
    pub root: Option<String>,
    /// Name of this machine in sinks that several share; default: its host name.
    pub node: Option<String>,
    /// Permission bits that no file and no directory gets that Tidegate creates, in octal; default
    /// `027`: files are 0640, directories 0750. Bits of the umask that it is started with stay.
    pub umask: Option<String>,
    /// Threads.
    pub cores: CoresConfig,
    /// Addresses.
    pub listen: ListenConfig,
    /// The access log as a queue. Without this section nothing is recorded.
    pub journal: Option<JournalConfig>,
    /// Whatever answers a miss over HTTP.
    pub upstream: Vec<UpstreamSection>,
    /// Who is asked for the addresses of upstreams' names.
    pub resolver: ResolverConfig,
    /// Models served from this process.
    pub model: Vec<ModelConfig>,
    /// The trail of operators' actions.
    pub audit: AuditConfig,
    /// User profiles.
    pub profiles: Option<ProfilesConfig>,
    /// The record process, which delivers rollups.
    pub events: EventsConfig,
    /// Log files that are read as a queue.
    pub source: Vec<SourceConfig>,
    /// Fields over those of their lines.
    pub field: Vec<FieldConfig>,
    /// What is counted of their lines.
    pub rollup: Vec<RollupConfig>,
    /// Where the counts are delivered.
    pub sink: Vec<SinkConfig>,
    /// Room for stored answers, in memory and on disk.
    pub cache: StoreConfig,
    /// Bounds that protect the machine.
    pub limits: LimitsConfig,
    /// What happens to requests; the first route that matches wins.
    pub route: Vec<RouteConfig>,
    /// A statsd server, in the edge process, or alone by `tidegate statsd`.
    pub statsd: Option<StatsdConfig>,
}

/// An upstream of either kind.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its schema is what is used: sections are read by kind")]
pub(crate) enum UpstreamSection {
    /// Servers.
    Servers(Box<UpstreamConfig>),
    /// Workers.
    Python(Box<PoolConfig>),
}

/// Less would make a batch of every few lines.
const WINDOW_BYTES_MIN: u64 = 1_000_000;
/// Rows hold 4 GB of text at most.
const WINDOW_BYTES_MAX: u64 = 2_000_000_000;

/// Profiles of another program's file that are asked what they have.
const PROFILES_LOOKED_AT: u64 = 1000;

/// Keys at the top level, for the check of unknown ones.
const KEYS: [&str; 3] = ["root", "node", "umask"];

/// Names of the sections, for the same check.
pub(crate) const SECTIONS: [&str; 17] = [
    "cores", "listen", "audit", "journal", "upstream", "resolver", "model", "profiles", "events",
    "source", "field", "rollup", "sink", "cache", "limits", "route", "statsd",
];

/// Threads, such as `cores = { edge = 1, work = 1 }`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CoresConfig {
    /// Threads that serve connections; default: one a core of the machine.
    pub edge: Option<usize>,
    /// Threads for work of more than 200 µs; default: one a core of the machine.
    pub work: Option<usize>,
}

/// Everything the process is to do.
pub(crate) struct Plan {
    /// The configuration file.
    pub file: PathBuf,
    /// Where relative paths start: its folder, unless it names another.
    pub root: PathBuf,
    /// Permission bits that nothing gets that is created.
    pub umask: Umask,
    /// Threads that serve connections.
    pub edge_cores: usize,
    /// Threads for long work.
    pub work_threads: usize,
    /// Public address.
    pub public: SocketAddr,
    /// Admin address.
    pub admin: SocketAddr,
    /// Admin token.
    pub admin_token: Option<String>,
    /// Time to drain.
    pub drain: Duration,
    /// How operators' actions are recorded.
    pub audit: ::audit::Options,
    /// The journal.
    pub journal: Option<JournalPlan>,
    /// Models.
    pub models: ModelPlans,
    /// Profiles.
    pub profiles: Option<ProfilesPlan>,
    /// The record process.
    pub events: pipeline::Plan,
    /// Pools of Python workers.
    pub pools: Vec<workers::Plan>,
    /// The gateway.
    pub gateway: gateway::Plan,
    /// The statsd server.
    pub statsd: Option<statsd::plan::Plan>,
}

impl Plan {
    /// Where batches are noted for people. The path is in docs/operating/events.md, too; at another
    /// one `events status` finds no earlier notes.
    pub(crate) fn binlog(&self) -> PathBuf {
        self.root.join("data/binlog")
    }

    /// Where losses are noted until they are acknowledged.
    pub(crate) fn losses(&self) -> PathBuf {
        self.root.join("data/losses")
    }
}

/// Reads and checks a configuration file.
///
/// # Errors
/// Every problem found, in the order of the lines; only one, if it is a file of statsd's.
pub(crate) fn load(path: &Path) -> Result<Plan, Vec<Problem>> {
    let text = read(path).map_err(|problem| vec![problem])?;
    if statsd::is_legacy(&text) {
        let runs = format!("`tidegate statsd --compat statsd -c {}` runs by it", path.display());
        let message = format!("it is a file of statsd's and no TOML; {runs}");
        return Err(vec![Problem { line: 0, key: String::new(), message }]);
    }
    let root = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let (text, missing) = credentials::put_into(&text);
    let plan = with_missing(check(&text, root.unwrap_or(Path::new("."))), missing)?;
    Ok(Plan { file: path.to_owned(), ..plan })
}

/// Adds the secrets that are missing to what is wrong; what else their lines have may come of that.
fn with_missing(
    checked: Result<Plan, Vec<Problem>>,
    mut missing: Vec<Problem>,
) -> Result<Plan, Vec<Problem>> {
    if missing.is_empty() {
        return checked;
    }
    let others = checked.err().unwrap_or_default();
    let is_other = |problem: &Problem| missing.iter().all(|it| it.line != problem.line);
    let others: Vec<Problem> = others.into_iter().filter(is_other).collect();
    missing.extend(others);
    missing.sort_by_key(|problem| problem.line);
    Err(missing)
}

/// Reads the text of a configuration file, of whatever format.
///
/// # Errors
/// Why it cannot be read, and how to name another one.
pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    std::fs::read_to_string(path).map_err(|error| {
        let hint = "`-c FILE` says which to read; `tidegate demo` runs without one";
        let message = format!("read the configuration `{}`: {error}; {hint}", path.display());
        Problem { line: 0, key: String::new(), message }
    })
}

/// Reads how actions are recorded, and nothing else of a configuration.
///
/// # Errors
/// [`WrongConfig`] with what is wrong with that section, or with the file.
pub(crate) fn audit_options(path: &Path) -> Result<::audit::Options, WrongConfig> {
    let wrong = |problems| WrongConfig::new(path.to_owned(), problems);
    let text = read(path).map_err(|problem| wrong(vec![problem]))?;
    let root = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    audit::of_text(&text, root.unwrap_or(Path::new(""))).map_err(wrong)
}

/// Returns what is wrong with files that a right configuration names: those of models that rank.
pub(crate) fn check_files(plan: &Plan) -> Result<Vec<String>, Vec<Problem>> {
    let Ok(text) = read(&plan.file) else { return Ok(Vec::new()) };
    let mut document = Document::parse(&text);
    let models: Vec<ModelConfig> = document.sections("model");
    let mut wrong = |key: &str, reason| document.wrong(key, reason);
    let notes = serving::check_files(&models, &plan.models, &profile_names(plan), &mut wrong);
    for (index, upstream) in document.sections::<NamedSection>("upstream").iter().enumerate() {
        let pool = plan.pools.iter().find(|pool| Some(&pool.name) == upstream.name.as_ref());
        let is_path = |pool: &&workers::Plan| pool.interpreter.components().count() > 1;
        if let Some(pool) = pool.filter(is_path).filter(|pool| !pool.interpreter.exists()) {
            let file = pool.interpreter.display();
            let reason = format!("there is no interpreter `{file}`, and `serve` ends without it");
            document.wrong(&format!("upstream[{index}].interpreter"), reason);
        }
    }
    let problems = document.into_problems();
    if problems.is_empty() { Ok(notes) } else { Err(problems) }
}

/// What profiles have for models to read.
fn profile_names(plan: &Plan) -> ProfileNames {
    let Some(profiles) = &plan.profiles else { return ProfileNames::Unknown };
    if profiles.query.is_some() || profiles.every.is_some() {
        return ProfileNames::Built;
    }
    let options = profiles.file_options(UserKey::Plain);
    let file = ProfileFile::open(&profiles.file, &options, None);
    let names = file.and_then(|file| file.names(PROFILES_LOOKED_AT)).unwrap_or_default();
    if names.is_empty() { ProfileNames::Unknown } else { ProfileNames::Found(names) }
}

/// A section of which only the name matters.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NamedSection {
    name: Option<String>,
}

/// Checks the text of a configuration.
///
/// # Errors
/// Every problem found, in the order of the lines.
pub(crate) fn check(text: &str, root: &Path) -> Result<Plan, Vec<Problem>> {
    let mut document = Document::parse(text);
    document.known(&KEYS, &SECTIONS);
    let root = &root::of(root, &mut document);
    let cores: CoresConfig = document.section("cores");
    let listen: ListenConfig = document.section("listen");
    let journal = document.has("journal").then(|| document.section::<JournalConfig>("journal"));
    let journal = journal.map(|journal| journal::check(journal, root, &mut document));
    let models: Vec<ModelConfig> = document.sections("model");
    let models = serving::plan(&models, root, &mut |key, reason| document.wrong(key, reason));
    let profiles = document.has("profiles").then(|| document.section("profiles"));
    let profiles = profiles.map(|config: ProfilesConfig| {
        profiles::config::plan(&config, root, &mut |key, reason| document.wrong(key, reason))
    });
    let graceful = variable(&mut document, environment::graceful_timeout());
    let (pools, staffed) = check_pools(root, graceful, &mut document);
    let mut limits: LimitsConfig = document.section("limits");
    if let Some(time) = variable(&mut document, environment::keep_alive()) {
        limits.idle_timeout.get_or_insert_with(|| format!("{}s", time.as_secs()));
    }
    let sections = gateway::Sections {
        upstreams: document.sections_by("upstream", "python", false),
        pools: staffed,
        resolver: document.section("resolver"),
        routes: document.sections("route"),
        cache: document.section("cache"),
        limits,
    };
    let events = check_events(root, journal.is_some(), &mut document);
    if let Some(profiles) = &profiles {
        check_reads(profiles, journal.is_some(), (&events, root), &mut document);
    }
    let statsd = document.has("statsd").then(|| document.section("statsd"));
    let statsd = statsd.map(|config: StatsdConfig| {
        statsd::config::plan(&config, root, &mut |key, reason| document.wrong(key, reason))
    });
    let mut gateway = check_gateway(sections, &models, root, &mut document);
    listen::connections(&listen, &mut gateway.limits.connections, &mut document);
    let machine = std::thread::available_parallelism().map_or(1, usize::from);
    let usual = variable(&mut document, environment::public());
    let usual = usual.unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let public = address(&mut document, "listen.public", listen.public, &usual);
    let admin = address(&mut document, "listen.admin", listen.admin, "127.0.0.1:8081");
    let drain = ("listen.drain_timeout", listen.drain_timeout);
    let drain = value(&mut document, drain, Span::or_zero);
    let drain = drain.or(graceful);
    let plan = Plan {
        file: PathBuf::new(),
        root: root.to_owned(),
        umask: umask_of(&mut document),
        edge_cores: threads("cores.edge", cores.edge, &mut document).unwrap_or(machine),
        work_threads: threads("cores.work", cores.work, &mut document).unwrap_or(machine),
        public,
        admin,
        admin_token: environment::admin_token().or(listen.admin_token),
        drain: drain.unwrap_or(Duration::from_secs(30)),
        audit: audit::check(root, &mut document),
        journal,
        models,
        profiles,
        events,
        pools,
        gateway,
        statsd,
    };
    agree(&plan, &mut document);
    let problems = document.into_problems();
    if problems.is_empty() { Ok(plan) } else { Err(problems) }
}

/// Reports what sections do not agree on.
fn agree(plan: &Plan, document: &mut Document<'_>) {
    let management = |statsd: &statsd::plan::Plan| Some(statsd.management.as_ref()?.address);
    let listeners = [
        ("listen.public", Some(plan.public)),
        ("listen.admin", Some(plan.admin)),
        ("events.status", plan.events.status),
        ("statsd.management", plan.statsd.as_ref().and_then(management)),
    ];
    agreement::listeners(&listeners, document);
    for listener in [("listen.public", plan.public), ("listen.admin", plan.admin)] {
        agreement::upstreams(&plan.gateway.upstreams, listener, document);
    }
    let journal = plan.journal.as_ref().map(|journal| &*journal.options.dir);
    let cache = plan.gateway.store.disk.as_ref().map(|disk| &*disk.dir);
    agreement::directories(journal, cache, document);
    agreement::token(plan.admin, plan.admin_token.as_deref(), document);
}

/// Checks the gateway's sections, and the models that its routes name.
fn check_gateway(
    sections: gateway::Sections,
    models: &ModelPlans,
    root: &Path,
    document: &mut Document<'_>,
) -> gateway::Plan {
    let ranking: Vec<&str> = models.rankers.iter().map(|model| model.name.as_str()).collect();
    let texts = models.texts.iter().map(|model| model.name.as_str());
    let others = models.predictors.iter().map(|model| model.name.as_str());
    let others: Vec<&str> = others.chain(texts).collect();
    let names = ModelNames { ranking: &ranking, others: &others };
    let mut gateway = gateway::Plan::check(sections, names, document);
    if let Some(disk) = &mut gateway.store.disk {
        disk.dir = root.join(&disk.dir);
    }
    gateway
}

fn umask_of(document: &mut Document<'_>) -> Umask {
    let text: Option<String> = document.section("umask");
    let read = text.map_or(Ok(Umask::default()), |text| Umask::parse(&text));
    read.unwrap_or_else(|reason| {
        document.wrong("umask", reason);
        Umask::default()
    })
}

/// Pools of workers, and the upstreams that they answer for.
fn check_pools(
    root: &Path,
    graceful: Option<Duration>,
    document: &mut Document<'_>,
) -> (Vec<workers::Plan>, Vec<PoolUpstream>) {
    // A path that cannot be made absolute is one that nothing is found at, either.
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let both = "an upstream has `servers`, or `python` and workers; leave one of them out";
    document.either("upstream", ("python", "servers"), both);
    let configs: Vec<(usize, PoolConfig)> = document.sections_by("upstream", "python", true);
    let mut defaults = Defaults::default();
    if !configs.is_empty() {
        defaults.workers = variable(document, environment::workers());
        defaults.timeout = variable(document, environment::timeout());
        defaults.drain_timeout = graceful;
    }
    let mut pools = (Vec::new(), Vec::new());
    for (place, config) in configs {
        let plan = workers::config::plan(&config, &root, defaults, &mut |key, reason| {
            document.wrong(&format!("upstream[{place}].{key}"), reason);
        });
        pools.1.push(PoolUpstream {
            place,
            name: plan.name.clone(),
            answer_timeout: plan.timeout,
            piece_timeout: plan.piece_timeout,
            tunnels_max: plan.tunnels_max,
        });
        pools.0.push(plan);
    }
    pools
}

fn check_events(root: &Path, has_journal: bool, document: &mut Document<'_>) -> pipeline::Plan {
    let sections = pipeline::Sections {
        sources: document.sections("source"),
        fields: document.sections("field"),
        rollups: document.sections("rollup"),
        sinks: document.sections("sink"),
    };
    let mut events = pipeline::plan(&sections, root, has_journal, &mut |key, reason| {
        document.wrong(key, reason);
    });
    for (at, sink) in events.sinks.iter().enumerate() {
        if let Err(error) = sinks::open(&sink.url, root) {
            document.wrong(&format!("sink[{at}].url"), error.to_string());
        }
    }
    let node: Option<String> = document.section("node");
    events.node = node.unwrap_or_else(environment::host_name);
    let EventsConfig { status, window_bytes_max, quarantine } = document.section("events");
    let quarantine = quarantine.unwrap_or_default();
    let window = ("events.window_bytes_max", window_bytes_max);
    let window = value(document, window, ByteSize::or_zero).unwrap_or(32 << 20);
    if !(WINDOW_BYTES_MIN..=WINDOW_BYTES_MAX).contains(&window) {
        document.wrong("events.window_bytes_max", "write a size from 1MB to 2GB");
    }
    events.window_bytes_max = usize::try_from(window).unwrap_or(usize::MAX);
    events.quarantine_dir = root.join(quarantine.dir.as_deref().unwrap_or("data/quarantine"));
    let quarantine_bytes = ("events.quarantine.bytes_max", quarantine.bytes_max);
    let quarantine_bytes = value(document, quarantine_bytes, ByteSize::or_zero);
    events.quarantine_bytes_max = quarantine_bytes.unwrap_or(64 << 20);
    events.status =
        status.map(|text| address(document, "events.status", Some(text), "127.0.0.1:8082"));
    if events.status.is_some_and(|address| !address.ip().is_loopback()) {
        let reason = "the status is for this machine: write a loopback address, or ask `serve`";
        document.wrong("events.status", reason);
    }
    events
}

/// Checks that profiles which are built have something to be built from.
fn check_reads(
    profiles: &ProfilesPlan,
    has_journal: bool,
    (events, root): (&pipeline::Plan, &Path),
    document: &mut Document<'_>,
) {
    if profiles.query.as_ref().is_some_and(|query| !sinks::begins_as_reading(query)) {
        let reason = "is no query that only reads; it begins with SELECT, WITH, VALUES or TABLE";
        document.wrong("profiles.query", reason);
    }
    if let Some(database) = &profiles.database {
        if let Err(error) = sinks::check_query_url(database, root) {
            document.wrong("profiles.database", error.to_string());
        }
    } else if profiles.query.is_some() {
        if let Err(reason) = sinks::query_sink(profiles.sink.as_deref(), &events.sinks) {
            document.wrong("profiles.sink", reason);
        }
    } else if profiles.every.is_some() && !has_journal {
        let reason = "profiles are built from the journal: add [journal], or a `query`";
        document.wrong("profiles.every", reason);
    }
}
