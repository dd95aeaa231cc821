//! Takes secrets out of the list of processes, where everybody on the machine can read arguments.
//!
//! A process cannot change its arguments, so the program is executed again, with `***` for secrets.
//! The arguments as they were go into its environment, which only its user can read. Until then, a
//! few milliseconds, they stand in the list.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Parser;

use crate::cli::{Cli, Command as Verb, PgtopArgs};
use crate::environment;

const HIDDEN: &str = "***";

/// Returns the arguments, with secrets, once none of these stands in the list of processes.
///
/// # Errors
/// When the program cannot be executed again.
pub(super) fn arguments(args: &PgtopArgs) -> Result<Option<Box<PgtopArgs>>> {
    if let Some(text) = environment::pgtop_arguments() {
        let words: Vec<String> = serde_json::from_str(&text).context("read the arguments")?;
        return match Cli::try_parse_from(words).context("read the arguments")?.command {
            Verb::Pgtop(args) => Ok(Some(args)),
            _ => Ok(None),
        };
    }
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let hidden = hidden(&words, args);
    if hidden == words {
        return Ok(None);
    }
    let program = std::env::current_exe().context("find this program")?;
    let mut again = Command::new(program);
    again.arg0(&hidden[0]).args(&hidden[1..]);
    again.env(environment::PGTOP_ARGUMENTS, serde_json::to_string(&words)?);
    Err(again.exec()).context("hide the password from the list of processes")
}

fn hidden(words: &[String], args: &PgtopArgs) -> Vec<String> {
    let secrets = [&args.connection.password, &args.output.slack_webhook];
    let secrets: Vec<&String> =
        secrets.into_iter().flatten().filter(|secret| !secret.is_empty()).collect();
    let hide = |word: &String| {
        let found = secrets.iter().find(|secret| {
            word == **secret || (word.starts_with('-') && word.ends_with(&***secret))
        });
        match found {
            Some(secret) => format!("{}{HIDDEN}", &word[..word.len() - secret.len()]),
            None => word.clone(),
        }
    };
    audit::words_without_secrets(&words.iter().map(hide).collect::<Vec<_>>())
}
