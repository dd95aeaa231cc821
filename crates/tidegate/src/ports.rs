//! Adapts profiles, models and the journal to the gateway's ports, and work threads to those of
//! `serving`.
//!
//! `Masking` does more than pass calls on: it cuts client addresses and hashes user ids before a
//! line is encoded. So it does for the journal and for those who watch (`tap.rs`). `user_key` makes
//! the key for that, which profiles must share. Invariant: no exchange reaches the journal but
//! through `Masking::encode`. A profile file that is missing or fails becomes
//! `Profile::Unavailable`. Without `sync = "always"`, a durable record is answered when the line is
//! taken. Never here: the adapters of workers, which are in `workers.rs`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chassis::{Group, Length, WorkPool};
use exchange::{ExchangeRef, ModelAnswer, ModelRequest, Refusal};
use gateway::{AnswerSender, Compute, Durable, Profile, Profiles, QueuedAnswer, Recorder};
use journal::Lane;
use profiles::{Lookup, UserKey};
use serving::{JobGroup, JobPool, Models};

use crate::config::JournalPlan;
use crate::recorded::{NAMES, Redaction};

/// Profiles for the gateway's decisions.
pub(crate) struct ProfileLookup(pub Arc<profiles::Profiles>);

impl Profiles for ProfileLookup {
    fn look_up(&self, user: &[u8]) -> Profile {
        match self.0.lookup(user) {
            Lookup::Present => Profile::Present,
            Lookup::Absent => Profile::Absent,
            Lookup::NoGeneration | Lookup::Broken => Profile::Unavailable,
        }
    }
}

/// Models for the gateway's routes.
pub(crate) struct ModelAnswers(pub Arc<Models>);

impl Compute for ModelAnswers {
    fn cost(&self, request: &ModelRequest<'_>) -> Duration {
        self.0.cost(request)
    }

    fn compute(
        &self,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal> {
        self.0.answer(request, out)
    }

    fn is_queued(&self, request: &ModelRequest<'_>) -> bool {
        self.0.is_queued(request)
    }

    fn queue(&self, request: &ModelRequest<'_>, body: Bytes, sender: AnswerSender) {
        self.0.queue(request, body, Box::new(GatewaySender(sender)));
    }
}

/// The gateway's sender, as the models see it.
struct GatewaySender(AnswerSender);

impl serving::AnswerSender for GatewaySender {
    fn is_waiting(&self) -> bool {
        self.0.is_waiting()
    }

    fn send(self: Box<Self>, answer: QueuedAnswer) {
        self.0.send(answer);
    }
}

/// The work threads, as the models see them.
pub(crate) struct WorkThreads(WorkPool);

impl WorkThreads {
    /// Models let short jobs of each other in from now on.
    pub(crate) fn new(pool: WorkPool) -> Self {
        serving::on_pause(chassis::give_way);
        Self(pool)
    }
}

impl JobPool for WorkThreads {
    fn spawn(&self, group: JobGroup<'_>, job: Box<dyn FnOnce() + Send>) -> bool {
        let length = if group.is_long { Length::Long } else { Length::Short };
        self.0.spawn(Group { name: group.model, length }, job).is_ok()
    }
}

/// Headers in which proxies name the client.
const ADDRESSES: [&str; 11] = [
    "forwarded",
    "x-forwarded-for",
    "x-real-ip",
    "x-client-ip",
    "cf-connecting-ip",
    "true-client-ip",
    "fastly-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-original-forwarded-for",
    "rlnclientipaddr",
];

/// Headers that hold a URL.
const URLS: [&str; 5] =
    ["referer", "x-original-url", "x-rewrite-url", "x-original-uri", "x-forwarded-uri"];

/// What is taken out of an exchange before anybody keeps it or sees it.
pub(crate) struct Masking {
    truncate_ip: bool,
    user_key: UserKey,
    redaction: Redaction,
}

impl Masking {
    /// The masking of a journal; without one, secrets in URLs are taken out and nothing else.
    pub(crate) fn new(plan: Option<&JournalPlan>) -> Self {
        let usual = || Redaction::new(&NAMES.map(str::to_owned), false);
        Self {
            truncate_ip: plan.is_some_and(|plan| plan.truncate_ip),
            user_key: user_key(plan.and_then(|plan| plan.user_key.as_deref())),
            redaction: plan.map_or_else(usual, |plan| plan.redaction.clone()),
        }
    }

    /// Whether a header of a request tells what the line of its exchange masks. That is the
    /// client's address, the user's id, or a URL that is not as recorded.
    pub(crate) fn hides(&self, name: &str, value: &[u8], exchange: &ExchangeRef<'_>) -> bool {
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        let tells_client = self.truncate_ip && is(&ADDRESSES);
        let is_plain = matches!(self.user_key, UserKey::Plain);
        let tells_user = !is_plain && exchange.user.is_some_and(|user| value.trim_ascii() == user);
        tells_client || tells_user || is(&URLS) || self.redaction.hides_all(exchange)
    }

    /// Appends the line of an exchange.
    pub(crate) fn encode(&self, exchange: &ExchangeRef<'_>, brief: bool, line: &mut Vec<u8>) {
        self.masked(exchange, |masked| match brief {
            true => exchange::encode_brief(masked, line),
            false => exchange::encode(masked, line),
        });
    }

    /// Calls `with` with what may be seen of an exchange.
    pub(crate) fn masked(&self, exchange: &ExchangeRef<'_>, with: impl FnOnce(&ExchangeRef<'_>)) {
        // Before the id is hashed, so that it is found.
        let texts = self.redaction.texts(exchange);
        let mut exchange = *exchange;
        texts.put(&mut exchange);
        if self.truncate_ip {
            exchange.client_ip = exchange.client_ip.map(exchange::truncate_ip);
        }
        let hashed = exchange.user.map(|user| self.user_key.of(user));
        exchange.user = hashed.as_deref();
        with(&exchange);
    }
}

/// One core's way into the journal.
pub(crate) struct JournalRecorder {
    lane: Lane,
    masking: Masking,
    /// Collection routes answer after fsync.
    durable: bool,
}

impl JournalRecorder {
    /// A recorder that writes to `lane` as `plan` says.
    pub(crate) fn new(lane: Lane, plan: &JournalPlan) -> Self {
        Self {
            lane,
            masking: Masking::new(Some(plan)),
            durable: matches!(plan.options.sync, journal::Sync::Always),
        }
    }
}

impl Recorder for JournalRecorder {
    fn record(&self, exchange: &ExchangeRef<'_>, brief: bool) -> bool {
        self.lane.append(|line| self.masking.encode(exchange, brief, line)).is_ok()
    }

    fn record_durably(&self, exchange: &ExchangeRef<'_>, brief: bool) -> Durable {
        if !self.durable {
            let taken = self.record(exchange, brief);
            return Box::pin(std::future::ready(taken));
        }
        let ticket = self.lane.append_durable(|line| self.masking.encode(exchange, brief, line));
        Box::pin(async move { ticket.await.is_ok() })
    }
}

/// The key under which user ids are recorded and looked up.
pub(crate) fn user_key(secret: Option<&str>) -> UserKey {
    secret.map_or(UserKey::Plain, UserKey::hash)
}
