//! `tidegate events …`: the record process. One pipeline for each source on its way to each sink
//! that wants it, so that a dead sink holds nobody else up.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use pipeline::{
    FileSource, JOURNAL, JournalSource, Pipeline, QUARANTINE_BYTES_MAX, Quarantine, Rollup,
    SinkPlan, Source, SourcePlan, Status, Stop,
};
use stdx::RealDisk;

use crate::cli::EventsCommand;
use crate::commands;
use crate::config::Plan;
use crate::signals::EndSignals;

/// Memory for the running values of one pipeline.
const WINDOW_BYTES_MAX: usize = 32 << 20;

/// `tidegate events …`
pub fn command(command: EventsCommand) -> Result<()> {
    match command {
        EventsCommand::Run { config, once } => run(&config.config, once),
    }
}

fn run(file: &Path, once: bool) -> Result<()> {
    let plan = Arc::new(commands::load(file)?);
    if plan.events.rollups.is_empty() {
        bail!("`{}` has no [[rollup]]: there is nothing to deliver", file.display());
    }
    let mut signals = EndSignals::install()?;
    let stop = Stop::default();
    let lines = start(&plan, once, &stop)?;
    if once {
        // A signal ends it early.
        let stop = stop.clone();
        std::thread::spawn(move || {
            signals.wait();
            stop.now();
        });
    } else {
        signals.wait();
        stop.now();
    }
    for line in lines {
        if line.join().is_err() {
            bail!("a pipeline's supervisor panicked; its message is above");
        }
    }
    Ok(())
}

fn start(plan: &Arc<Plan>, once: bool, stop: &Stop) -> Result<Vec<JoinHandle<()>>> {
    let mut threads = Vec::new();
    for sink in &plan.events.sinks {
        for source in &plan.events.sources {
            let rollups = rollups(plan, source, sink);
            if !rollups.is_empty() {
                let line = Line {
                    plan: Arc::clone(plan),
                    source: source.clone(),
                    sink: sink.clone(),
                    rollups,
                    once,
                    status: Arc::default(),
                };
                threads.push(line.start(stop.clone())?);
            }
        }
    }
    Ok(threads)
}

fn rollups(plan: &Plan, source: &SourcePlan, sink: &SinkPlan) -> Vec<Arc<Rollup>> {
    let wanted = plan.events.rollups.iter().filter(|rollup| {
        let counts = rollup.sources.is_empty() || rollup.sources.contains(&source.name);
        counts && rollup.sink == sink.name
    });
    wanted.map(|rollup| Arc::clone(&rollup.rollup)).collect()
}

/// A source on its way to a sink.
struct Line {
    plan: Arc<Plan>,
    source: SourcePlan,
    sink: SinkPlan,
    rollups: Vec<Arc<Rollup>>,
    once: bool,
    status: Arc<Status>,
}

impl Line {
    fn start(self, stop: Stop) -> Result<JoinHandle<()>> {
        let name = format!("{} to {}", self.source.name, self.sink.name);
        let thread = std::thread::Builder::new().name("line".to_owned());
        let thread = thread.spawn(move || {
            pipeline::supervise(&name, || self.pipeline(), &self.status, &stop);
        });
        thread.context("start a thread")
    }

    fn pipeline(&self) -> Pipeline {
        let root = &self.plan.root;
        Pipeline {
            node: self.plan.events.node.clone(),
            source_name: self.source.name.clone(),
            source: self.open_source(),
            format: self.source.format.clone(),
            quarantine: self.quarantine(),
            fields: self.plan.events.fields_of(&self.source.name),
            rollups: self.rollups.clone(),
            sink: sinks::open(&self.sink.url, root).expect("the address was checked"),
            flush: self.sink.flush,
            window_bytes_max: WINDOW_BYTES_MAX,
            until_caught_up: self.once,
            status: Arc::clone(&self.status),
        }
    }

    fn quarantine(&self) -> Quarantine {
        let name = format!("{}-{}.ndjson", self.source.name, self.sink.name);
        let path = self.plan.root.join("data/quarantine").join(name);
        Quarantine::new(path, Arc::new(RealDisk), QUARANTINE_BYTES_MAX, Arc::clone(&self.status))
    }

    fn open_source(&self) -> Box<dyn Source> {
        let disk = Arc::new(RealDisk);
        match (&self.plan.journal, self.source.files.first()) {
            (Some(journal), None) if self.source.name == JOURNAL => {
                let consumer = format!("events-{}", self.sink.name);
                Box::new(JournalSource::new(journal.options.dir.clone(), &consumer, disk))
            }
            (_, file) => {
                let file = file.expect("a source names files");
                Box::new(FileSource::new(file, disk))
            }
        }
    }
}
