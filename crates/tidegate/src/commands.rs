//! Runs `serve`, `config`, `profiles` and `rollout`, and holds what other commands share with them.
//!
//! Shared are `load`, `ask_admin` and `counted`. `load` reads a configuration or fails with
//! `WrongConfig`, which `main.rs` prints, exit code 78. `ask_admin` asks a running server. Any
//! status but 200 is an error there, with the reason that the page names (`admin/refusal.rs`).
//! `counted` words a count with its noun.
//! `USUAL_ADMIN` must be the default of `listen.admin` in `config.rs`; the help in `cli.rs` names
//! it, too.
//! `profiles build --force` lifts `shrink_max`, and not `rows_min`. Shares of `rollout set` are
//! read here, by the form that `gateway` and `profiles` read in a file.
//! `config check` reads a file of statsd's as `tidegate statsd` does, and the files of models that
//! rank; `serve` starts without good ones, and waits for them. `config print` prints the
//! file without its secrets (`commands/redact.rs`), and behind it `data/live.toml` as comments.
//! Never here: the other commands, which have modules such as `model.rs` and `events.rs`. The work
//! is in `serve.rs` and the crates of the roles.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use profiles::ProfilesError;
use serde_json::{Value, json};

use crate::cli::{AdminArgs, ConfigCommand, ProfilesCommand, RolloutCommand};
use crate::client::{Client, ClientReply, ClientRequest, NotListening};
use crate::config::{self, Plan};
use crate::environment;
use crate::hint::{self, Hint, STILL_REACHED};
use crate::orphans;
use crate::output;
use crate::overrides;
use crate::passed::PassedSockets;
use crate::profile_build::ProfileBuild;
use crate::serve;
use crate::service_manager;
use crate::signals::{EndSignals, Hangup};
use crate::wrong_config::WrongConfig;

mod explain;
mod init;
mod notes;
mod redact;
mod reference;
mod rollout;

/// Where a server listens for these commands unless its configuration says otherwise.
const USUAL_ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);
/// What these commands read when no other is named.
pub(crate) const USUAL_CONFIG: &str = "tidegate.toml";
pub(crate) const NOT_THERE: Hint = Hint(
    "`--admin` takes the address of a running server's admin listener (`listen.admin`), and \
     `-c FILE` finds it in the configuration",
);
const FORCE: Hint = Hint("`--force` replaces the file this once, whatever is lost");
pub(crate) const NO_TOKEN: Hint = Hint(
    "set `TIDEGATE_ADMIN_TOKEN` to the server's token, or name its configuration (`-c FILE`), and \
     ask on the server's own machine",
);

/// `tidegate serve`
pub(crate) fn serve(file: &Path) -> Result<()> {
    let passed = PassedSockets::take()?;
    // Before all that takes time: process 1 gets no signal that it has not asked for.
    let mut signals = EndSignals::install(Hangup::ReadsNothing)?;
    orphans::reap_as_first()?;
    let plan = load(file)?;
    for note in notes::of(&plan) {
        tracing::warn!("{note}");
    }
    let server = serve::start(plan, passed).map_err(hint::about_files)?;
    let (public, admin) = (server.public, server.admin);
    tracing::info!(%public, %admin, "serving");
    service_manager::ready(&format!("serving on {public}, admin on {admin}"));
    signals.wait();
    service_manager::stopping("finishing requests");
    server.stop()
}

/// `tidegate config …`
pub(crate) fn config(command: ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Check(args) => check_config(&args.config())?,
        ConfigCommand::Print(args) => print_config(&args.config())?,
        ConfigCommand::Reference { section, grep } => {
            print!("{}", reference::text(section.as_deref(), grep.as_deref())?);
        }
        ConfigCommand::Explain(args) => explain::run(&args, load)?,
        ConfigCommand::Init(args) => init::run(&args)?,
    }
    Ok(())
}

/// `tidegate profiles …`
pub(crate) fn profiles(command: ProfilesCommand) -> Result<()> {
    match command {
        ProfilesCommand::Build { config, force } => {
            let mut plan = load(&config.config)?;
            if let Some(profiles) = plan.profiles.as_mut().filter(|_| force) {
                profiles.shrink_max = 1.0;
            }
            build_profiles(&plan, &config.config)
        }
        ProfilesCommand::Inspect { file, user } => {
            let inspection = profiles::inspect(&file, user.as_deref().map(str::as_bytes))?;
            output::print_cleaned(&format!("{inspection}\n"))
        }
        ProfilesCommand::Check { file: Some(file), .. } => {
            let report = profiles::check(&file)?;
            output::print_cleaned(&format!("{report}\n"))
        }
        ProfilesCommand::Check { file: None, config, .. } => compare_profiles(&config.config),
    }
}

/// `tidegate rollout …`
pub(crate) fn rollout(command: RolloutCommand) -> Result<()> {
    match command {
        RolloutCommand::Show { admin, json } => show_rollout(&admin, ("GET", &[]), json),
        RolloutCommand::Set { admin, clear: true, json, .. } => {
            show_rollout(&admin, ("DELETE", &[]), json)
        }
        RolloutCommand::Set { admin, route, rollout, hold_out, kill, json, .. } => {
            let body = json!({
                "route": route,
                "rollout": rollout.as_deref().map(share).transpose()?,
                "hold_out": hold_out.as_deref().map(share).transpose()?,
                "killed": kill.map(|text| text == "on"),
            });
            show_rollout(&admin, ("POST", body.to_string().as_bytes()), json)
        }
    }
}

/// Reads and checks a configuration file, and sets its umask: whatever comes then may create files.
///
/// # Errors
/// [`WrongConfig`] with every problem in it.
pub(crate) fn load(file: &Path) -> Result<Plan> {
    let wrong = |problems| WrongConfig::new(file.to_owned(), problems);
    let plan = config::load(file).map_err(wrong)?;
    plan.umask.set();
    Ok(plan)
}

/// Checks a configuration; a file of statsd's as what it is.
fn check_config(file: &Path) -> Result<()> {
    let is_legacy = crate::statsd::is_legacy(file);
    let notes = if is_legacy {
        crate::statsd::of_file(file, Some(statsd::Flavour::Statsd))?.0.notes
    } else {
        let plan = load(file)?;
        let of_files = config::check_files(&plan)
            .map_err(|problems| WrongConfig::new(file.to_owned(), problems))?;
        [notes::of(&plan), of_files].concat()
    };
    let notes: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
    let ending = if is_legacy { ", read as a file of statsd's" } else { "" };
    output::print_cleaned(&format!("{notes}{}: no errors{ending}\n", file.display()))
}

fn print_config(file: &Path) -> Result<()> {
    let plan = load(file)?;
    let text =
        std::fs::read_to_string(file).with_context(|| format!("read `{}`", file.display()))?;
    let shown = redact::redacted(&text).with_context(|| format!("show `{}`", file.display()))?;
    output::print_cleaned(&format!("{}\n", shown.trim_end()))?;
    let file = overrides::file(&plan.root);
    match std::fs::read_to_string(&file) {
        Ok(changes) => {
            let lines: String = changes.lines().map(|line| format!("# {line}\n")).collect();
            let file = file.display();
            output::print_cleaned(&format!(
                "\n# Live changes, which win until cleared ({file}):\n{lines}"
            ))
        }
        Err(_) => output::print("\n# No live changes.\n"),
    }
}

fn build_profiles(plan: &Plan, file: &Path) -> Result<()> {
    let lacks = |section| format!("build profiles by `{}`: it has no [{section}]", file.display());
    let profiles = plan.profiles.as_ref().with_context(|| lacks("profiles"))?;
    let build = ProfileBuild::of(plan).with_context(|| lacks("journal"))?;
    let built = build.run(profiles::Output::WholeFile).map_err(|error| match error {
        ProfilesError::Shrunk { .. } => anyhow::Error::new(error).context(FORCE),
        _ => error.into(),
    })?;
    output::print_cleaned(&format!(
        "{}: {} of {}, {}\n",
        profiles.file.display(),
        counted(built.rows, "profile"),
        counted(built.users, "user"),
        counted(built.bytes, "byte"),
    ))
}

/// Compares the profiles that are served with those of a build from nothing.
fn compare_profiles(file: &Path) -> Result<()> {
    let plan = load(file)?;
    let build = ProfileBuild::of(&plan);
    let compared = build.as_ref().and_then(ProfileBuild::compare);
    let lacks = || {
        let file = file.display();
        format!("compare profiles by `{file}`: it builds none from a journal")
    };
    let comparison = compared.with_context(lacks)??;
    output::print_cleaned(&format!("{comparison}\n"))?;
    anyhow::ensure!(comparison.differences == 0, "the profiles are not those of a whole build");
    Ok(())
}

fn show_rollout(admin: &AdminArgs, (method, body): (&str, &[u8]), as_json: bool) -> Result<()> {
    let answer = ask_admin(admin, method, "/rollout", body)?;
    if as_json {
        print!("{answer}");
        return Ok(());
    }
    let shares: Value = serde_json::from_str(&answer).context("read the answer of `/rollout`")?;
    output::print_cleaned(&rollout::text(&shares))
}

/// What the admin listener of a running server answers.
///
/// # Errors
/// When no server is there, and when it refuses.
pub(crate) fn ask_admin(
    admin: &AdminArgs,
    method: &str,
    path: &str,
    body: &[u8],
) -> Result<String> {
    ask_admin_at(listener(admin)?, method, path, body)
}

/// The same of the listener at an address, with its token.
///
/// # Errors
/// When no server is there, and when it refuses.
pub(crate) fn ask_admin_at(
    listener: (SocketAddr, Option<String>),
    method: &str,
    path: &str,
    body: &[u8],
) -> Result<String> {
    let address = listener.0;
    let reply = send_admin(listener, method, path, body)?;
    let text = String::from_utf8_lossy(&reply.body);
    if reply.status != 200 {
        let parsed: Value = serde_json::from_str(&text).unwrap_or_default();
        let reason = parsed["error"].as_str().unwrap_or("not the answer of an admin listener");
        let error = anyhow!("{method} {path} on `{address}`: {}, {reason}", reply.status);
        return Err(match reply.status {
            404 | 405 => error.context(NOT_THERE),
            401 | 403 => error.context(NO_TOKEN),
            _ => error,
        });
    }
    Ok(text.into_owned())
}

/// Any answer of the listener at an address.
///
/// # Errors
/// When no server is there.
pub(crate) fn send_admin(
    (address, token): (SocketAddr, Option<String>),
    method: &str,
    path: &str,
    body: &[u8],
) -> Result<ClientReply> {
    let fields = token.map(|token| ("authorization", format!("Bearer {token}")));
    let call = ClientRequest { method, target: path, fields: fields.as_slice(), body };
    Client::new(address).send(call).map_err(|error| match error {
        error if error.is::<NotListening>() => error.context(NOT_THERE),
        error => error,
    })
}

/// A count with its noun: `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

/// The address and the token of the admin listener that is meant. Without one, it is that of the
/// configuration here, and where there is none, the usual one. One with an error is an error: the
/// usual address may be that of another server.
pub(crate) fn listener(admin: &AdminArgs) -> Result<(SocketAddr, Option<String>)> {
    let of_plan = |plan: Plan| (plan.admin, plan.admin_token);
    match (&admin.config, admin.admin) {
        (Some(file), _) => load(file).map(of_plan).context(STILL_REACHED),
        (None, Some(address)) => Ok((address, environment::admin_token())),
        (None, None) if Path::new(USUAL_CONFIG).exists() => {
            load(Path::new(USUAL_CONFIG)).map(of_plan).context(STILL_REACHED)
        }
        (None, None) => Ok((USUAL_ADMIN, environment::admin_token())),
    }
}

fn share(text: &str) -> Result<f64> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent {
        Some(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => bail!("`{text}` is no share; write 0% to 100%"),
    }
}
