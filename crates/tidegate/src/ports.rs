//! Hands the gateway the real ones: profiles, models, the journal.
//!
//! Each adapter is thin; the work is in the crate that it adapts.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use chassis::WorkPool;
use exchange::ExchangeRef;
use gateway::{Compute, Computed, Durable, Profile, Profiles, Question, Record, Shown};
use journal::Lane;
use profiles::{Lookup, UserKey};
use serving::{Answer, Ask, Call, Impression, Models, Pool, RecommendParams, Refusal};

use crate::config::JournalPlan;

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
pub(crate) struct ModelAnswers {
    /// The models.
    pub models: Arc<Models>,
    /// Where user features come from.
    pub profiles: Option<Arc<profiles::Profiles>>,
}

impl Compute for ModelAnswers {
    fn cost(&self, question: &Question<'_>) -> Duration {
        match question.model {
            Some(model) => self.models.ranking.cost(model, None),
            None => self.models.cost(question.path, question.body.len()),
        }
    }

    fn compute(
        &self,
        question: &Question<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Computed, (u16, String)> {
        let mut hex = [0; 32];
        let id = hex_id(question.id, &mut hex);
        let begun = Instant::now();
        let Some(model) = question.model else {
            let Question { method, path, body, json_length, .. } = *question;
            let answered = self.models.answer(Ask { method, path, body, json_length, id }, out);
            let score = begun.elapsed();
            return answered.map(|answer| computed(&answer, score)).map_err(refused);
        };
        let profile = question.user.map(|user| self.profiles.as_ref()?.data(user));
        let features = begun.elapsed();
        if let Some(None) = profile {
            return Err((503, "the profile cannot be read".to_owned()));
        }
        let text = |name| exchange::query_value(question.query.as_bytes(), name);
        let utf8 = |name| text(name).and_then(|value| String::from_utf8(value.into_owned()).ok());
        let (limit, category) = (utf8("limit"), utf8("category"));
        let params = RecommendParams {
            limit: limit.as_deref(),
            explain: text("explain").is_some_and(|value| *value == *b"1"),
            category: category.as_deref(),
            request_id: id,
            decision: question.decision.name(),
        };
        let shown = self.models.ranking.recommend(model, profile.flatten().as_ref(), &params, out);
        let shown = shown.map_err(refused)?;
        let score = begun.elapsed() - features;
        let decision_at = decision_at(out, params.decision);
        let impression = Some(shown_of(&shown));
        Ok(Computed { features, score, impression, decision_at, ..Computed::default() })
    }

    fn gathers(&self, question: &Question<'_>) -> bool {
        question.model.is_none() && self.models.gathers(question.path)
    }

    fn gather(&self, question: &Question<'_>, body: Bytes, asker: gateway::Asker) {
        let begun = Instant::now();
        let call = Call {
            method: question.method.to_owned(),
            path: question.path.to_owned(),
            body,
            json_length: question.json_length,
            id: hex_id(question.id, &mut [0; 32]).to_owned(),
        };
        self.models.begin(call, Box::new(Client { asker, begun }));
    }
}

/// Who waits at the gateway, as the models see it.
struct Client {
    asker: gateway::Asker,
    begun: Instant,
}

impl serving::Asker for Client {
    fn is_waiting(&self) -> bool {
        self.asker.is_waiting()
    }

    fn answer(self: Box<Self>, answer: Result<Answer, Refusal>) {
        let score = self.begun.elapsed();
        let answer = answer.map(|answer| (computed(&answer, score), answer.body));
        self.asker.answer(answer.map_err(refused));
    }
}

/// The work threads, as the models see them.
pub(crate) struct WorkThreads(pub WorkPool);

impl Pool for WorkThreads {
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) -> bool {
        self.0.spawn(job).is_ok()
    }
}

fn computed(answer: &Answer, score: Duration) -> Computed {
    Computed {
        score,
        impression: answer.ranked.as_ref().map(|ranked| shown_of(&ranked.impression)),
        content_type: answer.content_type,
        json_length: answer.json_length,
        ..Computed::default()
    }
}

fn refused(refusal: Refusal) -> (u16, String) {
    (refusal.status, refusal.message)
}

/// Where a recommendation names its decision: right behind the request id.
fn decision_at(answer: &[u8], decision: &str) -> Option<Range<usize>> {
    const NAME: &[u8] = b"\"decision\":\"";
    let opening = &answer[..answer.len().min(128)];
    let start = opening.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    Some(start..start + decision.len())
}

fn shown_of(impression: &Impression) -> Shown {
    let mut items = String::with_capacity(256);
    for id in impression.ids() {
        items.push_str(id);
        items.push('\n');
    }
    Shown {
        model: (impression.model().to_owned(), impression.version().to_owned()),
        propensity: impression.propensity(),
        items,
    }
}

fn hex_id(id: u128, hex: &mut [u8; 32]) -> &str {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (place, digit) in hex.iter_mut().enumerate() {
        *digit = DIGITS[(id >> (124 - 4 * place)) as usize & 15];
    }
    std::str::from_utf8(hex).expect("hexadecimal digits are ASCII")
}

/// One core's way into the journal.
pub(crate) struct JournalRecorder {
    lane: Lane,
    truncate_ip: bool,
    user_key: UserKey,
    /// Collection routes answer after fsync.
    durable: bool,
}

impl JournalRecorder {
    /// A recorder that writes to `lane` as `plan` says.
    pub(crate) fn new(lane: Lane, plan: &JournalPlan) -> Self {
        Self {
            lane,
            truncate_ip: plan.truncate_ip,
            user_key: user_key(plan.user_key.as_deref()),
            durable: matches!(plan.options.sync, journal::Sync::Always),
        }
    }

    fn encode(&self, exchange: &ExchangeRef<'_>, brief: bool, line: &mut Vec<u8>) {
        let mut exchange = *exchange;
        if self.truncate_ip {
            exchange.client_ip = exchange.client_ip.map(exchange::truncate_ip);
        }
        let hashed = exchange.user.map(|user| self.user_key.of(user));
        exchange.user = hashed.as_deref();
        if brief {
            exchange::encode_brief(&exchange, line);
        } else {
            exchange::encode(&exchange, line);
        }
    }
}

impl Record for JournalRecorder {
    fn record(&self, exchange: &ExchangeRef<'_>, brief: bool) -> bool {
        self.lane.append(|line| self.encode(exchange, brief, line)).is_ok()
    }

    fn record_durably(&self, exchange: &ExchangeRef<'_>, brief: bool) -> Durable {
        if !self.durable {
            let taken = self.record(exchange, brief);
            return Box::pin(std::future::ready(taken));
        }
        let ticket = self.lane.append_durable(|line| self.encode(exchange, brief, line));
        Box::pin(async move { ticket.await.is_ok() })
    }
}

/// The key under which user ids are recorded and looked up.
pub(crate) fn user_key(secret: Option<&str>) -> UserKey {
    secret.map_or(UserKey::Plain, UserKey::hash)
}
