//! Starts the program: parses the command line, sets up the log, runs one command, ends with its
//! code.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage, 78 wrong configuration (`EX_CONFIG`). `lab probe
//! --plugin` ends with Nagios' codes instead, and `--fail-if` with 3 or 4 (`exit.rs`). Scripts know
//! them; they are also in the
//! help (`cli.rs`) and in docs/operating/start-and-stop.md.
//! Errors and their hints are printed here, on stderr, but for clap's (`lab.rs`) and a plug-in's
//! (`lab/probe.rs`).
//! A new command needs an arm in `main`. One that only prints also goes into `only_prints`, and so
//! ends by SIGPIPE when its reader leaves, instead of failing. Not so one that passes over a closed
//! pipe itself, as those of `lab`.
//! Never here: what a command does. `cli.rs` declares the arguments, and each command has a module.

#![expect(clippy::print_stdout, reason = "the command line prints")]

mod admin;
mod allocator;
mod audit;
mod cli;
mod client;
mod commands;
mod config;
mod credentials;
mod demo;
mod descriptors;
mod environment;
mod events;
mod exit;
mod explain;
mod health;
mod hint;
mod holders;
mod lab;
mod log;
mod manual;
mod model;
mod orphans;
mod output;
mod overrides;
mod parts;
mod passed;
mod pgtop;
mod ports;
mod profile_build;
mod progress;
mod record;
mod recorded;
mod serve;
mod service_manager;
mod signals;
mod statsd;
mod tap;
mod traffic;
mod umask;
mod unpacked;
mod version;
mod workers;
mod wrong_config;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command, EventsCommand, ProfilesCommand};

const EXIT_USAGE: u8 = 2;
const EXIT_CONFIG: u8 = 78;

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(arguments()) {
        Ok(cli) => cli,
        Err(error) => return lab::misspelt(&error),
    };
    // Their screens are what is to be read there.
    let has_screen = matches!(cli.command, Command::Demo(_) | Command::Lab(_) | Command::Pgtop(_));
    let usual = if has_screen { "error" } else { "info" };
    log::start(&environment::log_filter(usual));
    // Programs that the laboratory runs write files of their own.
    if !matches!(cli.command, Command::Lab(_)) {
        umask::Umask::default().set();
    }
    if only_prints(&cli.command) {
        stdx::end_with_reader();
    }
    if let Err(error) = allocator::ensure_is_used() {
        return report(&error);
    }
    let done = match cli.command {
        Command::Serve(args) => commands::serve(&args.config()),
        Command::Demo(args) => demo::run(&args),
        Command::Config(command) => commands::config(command),
        Command::Profiles(command) => commands::profiles(command),
        Command::Model(command) => model::run(command),
        Command::Rollout(command) => commands::rollout(command),
        Command::Explain(args) => explain::command(&args),
        Command::Health(args) => health::command(&args),
        Command::Workers(command) => workers::command(command),
        Command::Statsd(args) => statsd::run(args),
        Command::Events(command) => events::command(command),
        Command::Traffic(args) => traffic::command(&args),
        Command::Pgtop(args) => pgtop::command(&args),
        Command::Audit(args) => audit::command(&args),
        Command::Lab(command) => lab::command(command),
        Command::Completions(args) => manual::completions(&args),
        Command::Manual(args) => manual::write(&args),
        Command::Version(args) => version::command(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

/// The words of the command line. `--version --verbose`, as compilers have it, is `version
/// --verbose`.
fn arguments() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|found| found == word);
    let is_version = is(1, "--version") || is(1, "-V");
    if words.len() == 3 && is_version && is(2, "--verbose") {
        words[1] = "version".into();
    }
    words
}

/// Whether a command does nothing but print. The others serve, or finish what they write whether or
/// not anybody reads what they print about it.
fn only_prints(command: &Command) -> bool {
    match command {
        Command::Config(_)
        | Command::Model(_)
        | Command::Rollout(_)
        | Command::Explain(_)
        | Command::Audit(_)
        | Command::Health(_)
        | Command::Workers(_)
        | Command::Completions(_)
        | Command::Version(_) => true,
        Command::Profiles(command) => !matches!(command, ProfilesCommand::Build { .. }),
        Command::Statsd(args) => args.command.is_some(),
        Command::Events(command) => {
            // `verify` has a copy to remove, and its code says more than what it prints.
            matches!(command, EventsCommand::Status { .. })
        }
        // It passes over a closed pipe by itself.
        Command::Pgtop(args) => args.look.batch,
        Command::Serve(_)
        | Command::Demo(_)
        | Command::Traffic(_)
        | Command::Lab(_)
        | Command::Manual(_) => false,
    }
}

fn report(error: &anyhow::Error) -> ExitCode {
    if let Some(exit) = error.downcast_ref::<exit::Exit>() {
        return ExitCode::from(exit.0);
    }
    if let Some(wrong) = error.downcast_ref::<wrong_config::WrongConfig>() {
        say(&output::cleaned(&wrong.to_string()));
        if let (_, Some(hint)) = hint::split(error) {
            say(&format!("hint: {hint}\n"));
        }
        return ExitCode::from(EXIT_CONFIG);
    }
    let misuse = error.downcast_ref::<exit::Misuse>();
    let (text, hint) = hint::split(misuse.map_or(error, |misuse| &misuse.0));
    say(&format!("error: {}\n", output::cleaned(&text)));
    if let Some(hint) = hint {
        say(&format!("hint: {hint}\n"));
    }
    if misuse.is_some() { ExitCode::from(EXIT_USAGE) } else { ExitCode::FAILURE }
}

/// Prints to stderr, which may be a terminal that has gone.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
