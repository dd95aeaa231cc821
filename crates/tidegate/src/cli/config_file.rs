//! Declares how commands are told which configuration.

use std::path::PathBuf;

use clap::Args;

/// Which configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// The configuration file.
    #[arg(short, long, value_name = "FILE", default_value = "tidegate.toml")]
    pub config: PathBuf,
}

/// Which configuration, where a command has no other operand.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// The configuration file, as with `--config`.
    #[arg(value_name = "FILE", conflicts_with = "config")]
    file: Option<PathBuf>,
    /// Which configuration.
    #[command(flatten)]
    config: ConfigArgs,
}

impl FileArgs {
    /// The file that is meant.
    pub(crate) fn config(self) -> PathBuf {
        self.file.unwrap_or(self.config.config)
    }
}
