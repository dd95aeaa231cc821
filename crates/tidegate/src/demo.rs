//! Runs the news example, self-contained: it serves, simulates readers, and shows the loop close.
//!
//! The example's files are compiled in; all but `readers.tsv` are written to a temporary directory,
//! which is removed at the end. A process that is killed leaves it. A file that the example's
//! `tidegate.toml` newly names must be added to both lists here. `make run` builds without database
//! drivers (docs/decisions/project.md), so the example may name no sink that needs one.
//! The headlines are real. What each reader likes is drawn from a stated mixture, so the uplift
//! that the screen shows is planted (`examples/news/README.md`).
//! Addresses of the command line replace the default ones in the example's `tidegate.toml` by their
//! text. So a change of that text must be made here, too; nothing fails otherwise.

mod counts;
mod readers;
mod screen;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cli::DemoArgs;
use crate::commands;
use crate::config::Plan;
use crate::passed::PassedSockets;
use crate::serve;
use crate::signals::{EndSignals, Hangup, WaitResult};
use readers::Readers;
use screen::Screen;

const CONFIG: &str = include_str!("../../../examples/news/tidegate.toml");
const ITEMS: &[u8] = include_bytes!("../../../examples/news/items.jsonl");
const MODEL: &[u8] = include_bytes!("../../../examples/news/model.json");
const WORDS: &[u8] = include_bytes!("../../../examples/news/embedding/model.safetensors");
const WORDS_CONFIG: &[u8] = include_bytes!("../../../examples/news/embedding/config.json");
const WORDS_TOKENS: &[u8] = include_bytes!("../../../examples/news/embedding/tokenizer.json");
const READERS: &str = include_str!("../../../examples/news/readers.tsv");

/// Runs the demo until a signal or its time ends it.
///
/// # Errors
/// When an address is taken, or the directory for temporary files cannot be written.
pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    let mut signals = EndSignals::install(Hangup::Ends)?;
    let dir = TemporaryDir::make()?;
    let plan = plan(&dir.0, args)?;
    let server = serve::start(plan, PassedSockets::default())?;
    let readers = match args.no_readers {
        true => None,
        false => Some(Arc::new(Readers::start(server.public, READERS, args.rate)?)),
    };
    let mut screen = Screen::open(args.management, (server.public, server.admin), &dir.0);
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    while signals.wait_for(Duration::from_secs(1)) == WaitResult::TimeOut {
        screen.show(&server.parts, readers.as_deref());
        if end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
    }
    if let Some(readers) = readers {
        readers.stop();
    }
    server.stop()
}

fn plan(dir: &Path, args: &DemoArgs) -> Result<Plan> {
    let file = dir.join("tidegate.toml");
    // What reads the file while the demo runs asks the same addresses.
    let addresses = [
        ("public = \"127.0.0.1:8080\"", format!("public = \"{}\"", args.public)),
        ("admin  = \"127.0.0.1:8081\"", format!("admin  = \"{}\"", args.admin)),
        ("udp:127.0.0.1:8125", format!("udp:{}", args.statsd)),
        ("management  = \"127.0.0.1:8126\"", format!("management  = \"{}\"", args.management)),
    ];
    let config = addresses
        .iter()
        .fold(CONFIG.to_owned(), |text, (default, other)| text.replace(default, other));
    let words = dir.join("embedding");
    std::fs::create_dir_all(&words).with_context(|| format!("make `{}`", words.display()))?;
    for (name, content) in [
        ("tidegate.toml", config.as_bytes()),
        ("items.jsonl", ITEMS),
        ("model.json", MODEL),
        ("embedding/config.json", WORDS_CONFIG),
        ("embedding/tokenizer.json", WORDS_TOKENS),
        ("embedding/model.safetensors", WORDS),
    ] {
        std::fs::write(dir.join(name), content)
            .with_context(|| format!("write `{}`", dir.join(name).display()))?;
    }
    let mut plan = commands::load(&file)?;
    plan.drain = Duration::from_secs(2);
    Ok(plan)
}

/// A directory for one run, removed when it is dropped.
struct TemporaryDir(PathBuf);

impl TemporaryDir {
    fn make() -> Result<Self> {
        let dir = std::env::temp_dir().join(format!("tidegate-demo-{}", std::process::id()));
        std::fs::create_dir_all(&dir).with_context(|| format!("make `{}`", dir.display()))?;
        Ok(Self(dir))
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        // What stays behind lies in the system's directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
