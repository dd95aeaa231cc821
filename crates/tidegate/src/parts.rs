//! Holds the running parts of a server, for its pages, its cores and the demo's screen.
//!
//! Plain data that `serve.rs` fills once. A part that the configuration does not name is None, or
//! an empty list.
//! Invariant: no part is replaced while the server runs, though each changes inside. The last
//! holder that drops `Parts` closes the journal, so nobody may hold `Parts` beyond the stop.
//! Never here: the order of start and stop, which is in `serve.rs`, and threads, which `Server`
//! owns.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gateway::Gateway;
use journal::Journal;
use metrics::Registry;
use pipeline::{LossBook, RecordStatus};
use serving::Models;

use crate::overrides::Overrides;
use crate::profile_build::BuildStatus;
use crate::tap::Taps;

/// What the roles share.
pub(crate) struct Parts {
    /// Where clients come in.
    pub public: SocketAddr,
    /// Where pages and actions are served.
    pub admin: SocketAddr,
    /// What records actions.
    pub audit: audit::ActionRecorder,
    /// How long requests may take to end when the server stops.
    pub drain_grace: Duration,
    /// Metrics of all roles.
    pub registry: Registry,
    /// The gateway.
    pub gateway: Arc<Gateway>,
    /// Models.
    pub models: Arc<Models>,
    /// Profiles.
    pub profiles: Option<Arc<profiles::Profiles>>,
    /// The journal.
    pub journal: Option<Journal>,
    /// What an operator changed while it serves.
    pub overrides: Overrides,
    /// The last build of profiles.
    pub profile_build: BuildStatus,
    /// The record process, when there is something to deliver.
    pub record: Option<Arc<RecordStatus>>,
    /// What was lost before it was delivered, when there is something to deliver.
    pub losses: Option<LossBook>,
    /// The statsd server.
    pub statsd: Option<Arc<statsd::ServerState>>,
    /// Who watches exchanges.
    pub tap: Arc<Taps>,
    /// Pools of Python workers.
    pub workers: Vec<Arc<workers::WorkerPool>>,
}
