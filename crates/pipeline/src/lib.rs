//! Delivers log lines as rows to a database, exactly once.
//!
//! The life of an event is `run`: tail → decode → window → deliver → checkpoint →
//! retire. A log file is the queue. What lies beside it decides nothing: the quarantine and the
//! [`Binlog`] are for people.
//!
//! Invariant: the sink commits rows and the position just after their lines in one transaction. It
//! commits only when it still holds the position that the lines were read from. So every complete
//! line that can be read counts once, whatever crashes, and a second writer is fenced off. [`Sink`]
//! states this; the drivers in `sinks` keep it, each as docs/operating/sinks.md says.
//! Here are also the configuration ([`config`], [`plan()`]), the [`Decoder`], the [`Inspector`] and
//! the supervision of the record process.
//! Refuses: to know an engine, and to block whoever writes the log.

mod batch;
mod binlog;
mod budget;
mod chunk;
pub mod config;
mod counter;
mod decode;
mod delivery;
mod error;
mod fields;
mod guess;
mod inspect;
mod losses;
mod plan;
mod quarantine;
mod record;
mod rollup;
mod run;
mod sink;
mod source;
mod stand_by;
mod status;
mod stop;
mod supervise;
mod window;
mod worker_threads;

pub use batch::{
    Batch, CellValue, Checkpoint, Column, ColumnRole, KEY_TEXT_BYTES_MAX, Kind, Table, TableRows,
};
pub use binlog::{Binlog, Note};
pub use budget::WindowBudget;
pub use chunk::LogChunk;
pub use config::SourceConfig;
pub use decode::{
    Decoder, Directed, Escape, Event, FORMAT_NAMES, FieldRule, Format, LineFormat, ListChoice,
    ListChoices, LogColumns, LogTemplate, NamedKeys, TimeFormat, Wrapper,
};
pub use error::{LineError, RunError, SinkError, SourceError};
pub use guess::{FormatGuess, guess_format};
pub use inspect::Inspector;
pub use losses::{LogLoss, LossBook, OpenLosses};
pub use plan::{JOURNAL, Plan, RollupPlan, Sections, SinkPlan, SourcePlan, plan};
pub use quarantine::Quarantine;
pub use record::{BoardEntry, RecordStatus, RecordSupervisor, StatusBoard, SupervisorOptions};
pub use rollup::{KeyPart, Measure, Rollup, SketchOf};
pub use run::Pipeline;
pub use sink::Sink;
pub use source::{
    Extent, FileNotices, FileOptions, FilePattern, FileRange, FileSource, JournalSource,
    LineSource, NodePosition, RangedSource, ReadOutcome, TimeOf, time_in,
};
pub use status::{LossReport, Status, StatusReport};
pub use stop::StopSignal;
pub use supervise::{PipelineHandle, PipelineSetup, supervise};
