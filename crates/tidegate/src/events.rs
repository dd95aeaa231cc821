//! Dispatches `tidegate events …`: the record process, and commands about what it delivers.
//!
//! Each file below is one command, or wiring that several share: `open.rs`, `tidegate_log.rs`,
//! `running.rs`, `copy.rs`, `scratch.rs` and `time.rs`. `inspect.rs` also finds the source that
//! others name.
//! Never here: the work itself, which is in `pipeline`, `sinks`, `training` and `recount`. Clap's
//! types are in `cli.rs`.

mod copy;
mod export;
mod inspect;
mod losses;
mod open;
mod query;
mod replay;
mod run;
mod running;
mod scratch;
mod status;
pub(crate) mod tidegate_log;
pub(crate) mod time;
mod verify;

use anyhow::Result;

use crate::cli::EventsCommand;
pub(crate) use losses::alarms as loss_alarms;

/// `tidegate events …`
pub(crate) fn command(command: EventsCommand) -> Result<()> {
    match command {
        EventsCommand::Run { config, once, give_up_after, supervised } => {
            run::command(&config.config, once, give_up_after.map(|span| span.0), supervised)
        }
        EventsCommand::Export(args) => export::command(&args),
        EventsCommand::Replay(args) => replay::command(&args),
        EventsCommand::Inspect(args) => inspect::command(&args),
        EventsCommand::Losses { config, ack } => losses::command(&config.config, &ack),
        EventsCommand::Status { config, json } => status::command(&config.config, json),
        EventsCommand::Query(args) => query::query(args),
        EventsCommand::Verify(args) => verify::command(&args.config),
    }
}
