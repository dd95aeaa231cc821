//! Keeps the processes of one pool: a thread of its own, a loop over what happens.
//!
//! Each turn takes one event (a message, an end, a wish, a tick), notes what it means, and then
//! decides from the whole picture what is to be done ([`decide`]): so a decision never depends on
//! the order in which things went wrong. Nothing here runs on a core that serves requests.
//!
//! Invariant: every wait has its time-out, and at the end no process of the pool is left.

mod decide;
mod exits;
mod fleet;
mod listen;
mod messages;
mod pace;
mod report;
mod spawn;
mod timer;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metrics::Registry;
use rustix::process::Pid;
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver};
use tokio::time::MissedTickBehavior;

use crate::command::Command;
use crate::dir::{Listeners, PoolDir};
use crate::error::WorkersError;
use crate::plan::Plan;
use crate::pool::{Availability, Pool};
use crate::process::Process;
use crate::status::Incident;
use crate::wire::{Hello, Say};
use fleet::{Dead, Generation, PreloadProcess, Who, Worker};
use listen::{Tails, Writer};
use pace::Pace;
use watch::Watch;

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(100);
/// What has happened and waits to be looked at; who has more to say waits.
const EVENTS_WAITING_MAX: usize = 64;
/// What lived so long was well.
const WELL_AFTER: Duration = Duration::from_secs(10);
/// What the end may take beyond the time to drain.
const END_WITHIN: Duration = Duration::from_secs(10);

/// The kept processes of one pool. Dropping it ends them, and waits for that.
#[derive(Debug)]
pub struct Workers {
    pool: Arc<Pool>,
    thread: Option<JoinHandle<()>>,
}

/// What happens.
#[derive(Debug)]
enum Event {
    Joined { connection: u64, hello: Hello, pid: i32, writer: Writer },
    Said { connection: u64, say: Say },
    Closed { connection: u64 },
    Ended { pid: i32 },
    Canary { id: u64, outcome: Result<(), String> },
}

/// Everything that is known of a pool's processes.
struct Supervisor {
    pool: Arc<Pool>,
    dir: PoolDir,
    events: Sender<Event>,
    keepers: BTreeMap<u64, PreloadProcess>,
    generations: BTreeMap<u64, Generation>,
    workers: BTreeMap<u64, Worker>,
    connections: HashMap<u64, Who>,
    dead: Vec<Dead>,
    /// What we started and have to wait for.
    children: Vec<Child>,
    /// What dead workers' apps had forked, and since when it is to end.
    orphans: Vec<(Pid, Instant)>,
    /// How processes ended.
    ends: HashMap<i32, ExitStatus>,
    watched: HashMap<i32, Process>,
    /// Processes that have ended, and since when; what they said last is still on its way.
    unheard: HashMap<i32, Instant>,
    tails: Tails,
    /// The generation in service.
    current: Option<u64>,
    /// The generation that is being tried.
    candidate: Option<u64>,
    /// Numbers given to keepers, generations and workers so far.
    counted: [u64; 3],
    wish: Option<ReloadRequest>,
    /// Keepers before this one have loaded what has changed since.
    oldest_keeper: u64,
    pace: Pace,
    watch: Watch,
    notes: report::Notes,
    clock: timer::Clock,
    random: stdx::Random,
    /// When the end has to be over.
    end_by: Option<Instant>,
}

/// A new import of the app that somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReloadRequest {
    reason: &'static str,
    with_new_keeper: bool,
}

impl Workers {
    /// Takes the pool's directory, starts its first process, and returns while that loads; the pool
    /// may be asked for workers at once. Metrics go to `registry`.
    ///
    /// # Errors
    /// When there is no interpreter or no app directory, or the pool's directory cannot be used.
    pub fn start(plan: Plan, registry: &Registry) -> Result<Self, WorkersError> {
        let name = plan.name.clone();
        if !plan.app_dir.is_dir() {
            return Err(WorkersError::NoAppDir { pool: name, path: plan.app_dir });
        }
        let (dir, listeners) = PoolDir::take(&plan)?;
        let (to_supervisor, commands) = mpsc::unbounded_channel();
        let pool = Arc::new(Pool::new(plan, registry, to_supervisor));
        let (started, has_started) = std::sync::mpsc::channel();
        let failed = |source| WorkersError::Thread { pool: name.clone(), source };
        let inner = Arc::clone(&pool);
        let life = move || live(inner, dir, listeners, (commands, started));
        let thread = std::thread::Builder::new().name(format!("workers {name}")).spawn(life);
        let thread = thread.map_err(failed)?;
        match has_started.recv() {
            Ok(Ok(())) => Ok(Self { pool, thread: Some(thread) }),
            Ok(Err(error)) => {
                // It ends by itself after an error.
                let _ = thread.join();
                Err(WorkersError::of_start(&pool.plan, error))
            }
            Err(_) => Err(failed(io::Error::other("it ended at once"))),
        }
    }

    /// What lends workers to requests.
    pub fn pool(&self) -> Arc<Pool> {
        Arc::clone(&self.pool)
    }

    /// Lets workers finish, and ends them: begins it and returns, so that pools end together.
    pub fn begin_end(&self) {
        self.pool.send(Command::End);
    }

    /// Ends all processes and waits for that: at most the time to drain and 15 seconds.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        self.begin_end();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(pool = self.pool.name(), "the thread that keeps workers panicked");
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.finish();
    }
}

type Started = std::sync::mpsc::Sender<io::Result<()>>;

/// The life of the supervisor's thread.
fn live(
    pool: Arc<Pool>,
    dir: PoolDir,
    listeners: Listeners,
    (commands, started): (UnboundedReceiver<Command>, Started),
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return drop(started.send(Err(error))),
    };
    let local = tokio::task::LocalSet::new();
    let life = async move {
        let (to_us, events) = mpsc::channel(EVENTS_WAITING_MAX);
        let supervisor = Supervisor::new(pool, dir, to_us);
        match supervisor.begin(listeners) {
            Ok(supervisor) => {
                let _ = started.send(Ok(()));
                supervisor.run(events, commands).await;
            }
            Err(error) => drop(started.send(Err(error))),
        }
    };
    local.block_on(&runtime, life);
}

impl Supervisor {
    fn new(pool: Arc<Pool>, dir: PoolDir, events: Sender<Event>) -> Self {
        let seed = stdx::unix_micros();
        Self {
            pool,
            dir,
            events,
            keepers: BTreeMap::new(),
            generations: BTreeMap::new(),
            workers: BTreeMap::new(),
            connections: HashMap::new(),
            dead: Vec::new(),
            children: Vec::new(),
            orphans: Vec::new(),
            ends: HashMap::new(),
            watched: HashMap::new(),
            unheard: HashMap::new(),
            tails: Tails::default(),
            current: None,
            candidate: None,
            counted: [0; 3],
            wish: Some(ReloadRequest { reason: "start", with_new_keeper: true }),
            oldest_keeper: 0,
            pace: Pace::new(seed),
            watch: Watch::default(),
            notes: report::Notes::default(),
            clock: timer::Clock::default(),
            random: stdx::Random::new(seed),
            end_by: None,
        }
    }

    /// Listens, and starts the first process.
    fn begin(mut self, listeners: Listeners) -> io::Result<Self> {
        let control = tokio::net::UnixListener::from_std(listeners.control)?;
        let output = tokio::net::UnixListener::from_std(listeners.output)?;
        tokio::task::spawn_local(listen::control(control, self.events.clone()));
        let pool = self.pool.name().into();
        tokio::task::spawn_local(listen::printed(output, pool, self.tails.clone()));
        self.decide();
        if let Some(error) = self.notes.spawn_error.take() {
            return Err(error);
        }
        self.report();
        Ok(self)
    }

    async fn run(mut self, mut events: Receiver<Event>, mut commands: UnboundedReceiver<Command>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.is_over() {
            tokio::select! {
                Some(event) = events.recv() => self.take(event),
                Some(command) = commands.recv() => self.obey(command),
                _ = ticks.tick() => self.tick(),
            }
            self.decide();
            self.report();
        }
        let reason = "the pool has ended".into();
        self.pool.set_availability(Availability::Unavailable(reason));
        if let Err(error) = self.dir.clear() {
            tracing::warn!(pool = self.pool.name(), %error, "the pool's directory cannot be cleared");
        }
        self.reap();
        self.pool.measure_queue();
        self.add_up_memory();
        self.notes.has_ended = true;
        self.report();
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Joined { connection, hello, pid, writer } => {
                self.join(connection, &hello, pid, writer);
            }
            Event::Said { connection, say } => self.hear(connection, say),
            Event::Closed { connection } => self.close(connection),
            Event::Ended { pid } => self.hear_out(pid),
            Event::Canary { id, outcome } => self.canary(id, outcome),
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Recycle => self.recycle_all(),
            Command::Reload => {
                let with_new_keeper = self.watch.settle().keepers;
                self.wish = Some(ReloadRequest { reason: "command", with_new_keeper });
            }
            Command::Worn(id) => self.wear(id, crate::status::Reason::Requests),
            Command::Idle(id) => self.leave(id),
            Command::Abandoned { worker: id, deadline } => {
                if let Some(worker) = self.workers.get_mut(&id) {
                    worker.abandoned_until.get_or_insert(deadline);
                }
            }
            Command::TimedOut(id) => self.timed_out(id),
            Command::Suspect(id) => self.suspect(id),
            Command::End => self.begin_end(),
        }
    }

    /// Watches for the end of a process; twice is once.
    fn watch_process(&mut self, pid: i32) -> Process {
        if let Some(process) = self.watched.get(&pid) {
            return process.clone();
        }
        let process = Process::hold(pid);
        self.watched.insert(pid, process.clone());
        let (watched, events) = (process.clone(), self.events.clone());
        tokio::task::spawn_local(async move {
            watched.ended().await;
            let _ = events.send(Event::Ended { pid }).await;
        });
        process
    }

    fn count(&mut self, which: usize) -> u64 {
        self.counted[which] += 1;
        self.counted[which]
    }

    fn trouble(stage: &str, reason: String) -> Incident {
        Incident {
            stage: stage.to_owned(),
            reason,
            unix_us: stdx::unix_micros(),
            ..Incident::default()
        }
    }
}
