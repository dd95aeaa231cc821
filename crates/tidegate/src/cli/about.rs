//! Declares the arguments of the commands that are about the program itself.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// For which shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that is to complete commands.
    #[arg(value_name = "bash|zsh|fish", value_parser = shell, hide_possible_values = true)]
    pub shell: Shell,
}

/// Where to.
#[derive(Debug, Args)]
pub(crate) struct ManualArgs {
    /// The directory, which is made.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// How much to say.
#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    /// Also what it is built of: commit, features, allocator, target, compiler, packages.
    #[arg(long)]
    pub verbose: bool,
}

/// One of the shells that are tried.
fn shell(text: &str) -> Result<Shell, String> {
    match text {
        "bash" => Ok(Shell::Bash),
        "zsh" => Ok(Shell::Zsh),
        "fish" => Ok(Shell::Fish),
        other => Err(format!("`{other}` is none of bash, zsh, fish")),
    }
}
