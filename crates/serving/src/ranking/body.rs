//! Reads the body of `POST /v1/models/{model}/rank`.
//!
//! ```json
//! {"candidates":["17",18],"user":{"affinity":{"b":0.6},"reads":12,"recent":["4"]},
//!  "context":{"hour":9},"exclude":["3"],"limit":10,"explain":false}
//! ```
//!
//! | key | holds |
//! |---|---|
//! | `candidates` | ids, or the name of a set; without it the model's default is ranked |
//! | `user`, `context` | features: numbers, `true`/`false` as 1/0, texts for one-hot features |
//! | `user.recent` | ids, as in a profile: left out where the model's `exclude_recent` says so |
//! | `exclude` | ids that are left out |
//! | `limit` | items at most, up to `limit_max`; 0 gives an empty list |
//! | `explain` | whether each item says what its score is made of |
//!
//! Every key is optional, and null is the same as absent. Keys beside these, and these given twice,
//! are 400. More ids in a list than `candidates_max` are 413. An id is a text, or a number taken as
//! it is written. A candidate listed twice is ranked once. One that no item has is reported in
//! `unknown`, as often as it is listed. Nested features are flattened with dots. A feature that the
//! model does not read is ignored, but arrays and infinite numbers are 400. A feature that it reads
//! is 400 when given twice, and takes the model's `missing` when absent.
//!
//! Invariant: the body is read in one pass, whatever the order of its keys.
//! A new key goes into `KEYS` (`seen` holds eight), `wanted`, `describe/openapi.json` and
//! `examples/news/README.md`. The function `limit` also reads the query of `GET` routes.
//! Elsewhere: the memory that it writes to (`ranking/scratch.rs`), what a feature may be
//! (`models::Inputs`).

use exchange::Refusal;
use models::FeatureSource;

use crate::config::ModelPlan;
use crate::json::{Json, JsonText, Kind};
use crate::ranking::loaded::LoadedRanker;
use crate::ranking::scratch::RankScratch;
use crate::refusal;

/// What a body asks for, beside what went into [`RankScratch`].
#[derive(Debug)]
pub(crate) struct RankQuery {
    pub(crate) candidates: CandidateChoice,
    pub(crate) limit: usize,
    pub(crate) explain: bool,
}

/// Which candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CandidateChoice {
    /// The model's default.
    Default,
    /// Those in `RankScratch::listed`.
    Listed,
    /// A named set, by its index.
    Set(usize),
}

/// Reads a body into `work`.
///
/// # Errors
/// 400 with the byte for whatever is malformed or of a wrong kind, 413 for too many ids.
pub(crate) fn read(
    body: &[u8],
    loaded: &LoadedRanker,
    plan: &ModelPlan,
    work: &mut RankScratch,
) -> Result<RankQuery, Refusal> {
    let mut json = Json::new(body)?;
    let asked =
        RankQuery { candidates: CandidateChoice::Default, limit: plan.limit, explain: false };
    let mut reader = Reader { loaded, plan, work, asked, seen: 0 };
    json.object(|json, key| reader.member(json, key))?;
    json.end()?;
    Ok(reader.asked)
}

const KEYS: [&str; 6] = ["candidates", "user", "context", "exclude", "limit", "explain"];

struct Reader<'r> {
    loaded: &'r LoadedRanker,
    plan: &'r ModelPlan,
    work: &'r mut RankScratch,
    asked: RankQuery,
    /// A bit per key of `KEYS`.
    seen: u8,
}

impl Reader<'_> {
    fn member(&mut self, json: &mut Json<'_>, key: JsonText<'_>) -> Result<(), Refusal> {
        let name = key.decoded(&mut self.work.text);
        let Some(index) = KEYS.iter().position(|known| *known == name) else {
            let reason = format!("is an unknown key; known are {}", KEYS.join(", "));
            return Err(refusal::wrong(key.at, name, &reason));
        };
        if self.seen & (1 << index) != 0 {
            return Err(refusal::wrong(key.at, KEYS[index], "is given twice"));
        }
        self.seen |= 1 << index;
        let (kind, at) = json.peek()?;
        match (KEYS[index], kind) {
            (_, Kind::Null) => json.word("null"),
            ("candidates", Kind::Array) => self.candidates(json),
            ("candidates", Kind::Text) => self.candidate_set(json),
            ("exclude", Kind::Array) => self.excluded(json, "exclude"),
            ("user", Kind::Object) => self.features(json, FeatureSource::User),
            ("context", Kind::Object) => self.features(json, FeatureSource::Context),
            ("limit", Kind::Number) => self.limit(json, at),
            ("explain", Kind::True) => {
                self.asked.explain = true;
                json.word("true")
            }
            ("explain", Kind::False) => json.word("false"),
            (key, _) => Err(refusal::wrong(at, key, wanted(key))),
        }
    }

    fn candidates(&mut self, json: &mut Json<'_>) -> Result<(), Refusal> {
        self.asked.candidates = CandidateChoice::Listed;
        let (items, count_max) = (self.loaded.ranker.items(), self.plan.candidates_max);
        let work = &mut *self.work;
        let mut count = 0;
        json.array(|json| {
            let (id, at) = id(json, "candidates", &mut work.text)?;
            count += 1;
            if count > count_max {
                return Err(refusal::too_many(at.0, "candidates", count_max));
            }
            match items.row(id.as_bytes()) {
                Some(row) => drop(work.listed.mark(row)),
                None => work.unknown.push(at),
            }
            Ok(())
        })
    }

    fn candidate_set(&mut self, json: &mut Json<'_>) -> Result<(), Refusal> {
        let text = json.text()?;
        let name = text.decoded(&mut self.work.text);
        match self.loaded.sets.iter().position(|(set, _)| set == name) {
            Some(index) => self.asked.candidates = CandidateChoice::Set(index),
            None => return Err(refusal::wrong(text.at, name, "is not a candidate set")),
        }
        Ok(())
    }

    fn excluded(&mut self, json: &mut Json<'_>, key: &'static str) -> Result<(), Refusal> {
        let (items, count_max) = (self.loaded.ranker.items(), self.plan.candidates_max);
        let work = &mut *self.work;
        let mut count = 0;
        json.array(|json| {
            let (id, at) = id(json, key, &mut work.text)?;
            count += 1;
            if count > count_max {
                return Err(refusal::too_many(at.0, key, count_max));
            }
            work.excluded.extend(items.row(id.as_bytes()));
            Ok(())
        })
    }

    fn limit(&mut self, json: &mut Json<'_>, at: usize) -> Result<(), Refusal> {
        let written = json.number()?;
        self.asked.limit =
            limit(written, self.plan).map_err(|reason| refusal::wrong(at, "limit", &reason))?;
        Ok(())
    }

    fn features(&mut self, json: &mut Json<'_>, source: FeatureSource) -> Result<(), Refusal> {
        let outer = self.work.path.len();
        json.object(|json, key| {
            if outer > 0 {
                self.work.path.push('.');
            }
            let RankScratch { path, text, .. } = &mut *self.work;
            path.push_str(key.decoded(text));
            self.feature(json, source)?;
            self.work.path.truncate(outer);
            Ok(())
        })
    }

    fn feature(&mut self, json: &mut Json<'_>, source: FeatureSource) -> Result<(), Refusal> {
        let (kind, at) = json.peek()?;
        let inputs = self.loaded.ranker.inputs();
        let RankScratch { path, slots, text, .. } = &mut *self.work;
        let mut number = |value| inputs.set_number(source, path, value, slots);
        let set = match kind {
            Kind::Number => {
                // What the reader accepts, `parse` does; what is too large becomes infinite.
                number(json.number()?.parse().unwrap_or(f64::INFINITY))
            }
            Kind::True => json.word("true").map(|()| number(1.0))?,
            Kind::False => json.word("false").map(|()| number(0.0))?,
            Kind::Null => return json.word("null"),
            Kind::Text => {
                let value = json.text()?;
                inputs.set_text(source, path, value.decoded(text), slots)
            }
            Kind::Object => return self.features(json, source),
            Kind::Array if source == FeatureSource::User && path == "recent" => {
                return self.recent(json);
            }
            Kind::Array => {
                let name = format!("{}.{path}", source.prefix());
                return Err(refusal::wrong(at, &name, "is an array; features are no arrays"));
            }
        };
        set.map_err(|error| {
            let name = format!("{}.{}", source.prefix(), self.work.path);
            refusal::wrong(at, &name, &error.to_string())
        })
    }

    fn recent(&mut self, json: &mut Json<'_>) -> Result<(), Refusal> {
        match self.plan.exclude_recent {
            true => self.excluded(json, "user.recent"),
            false => json.skip(),
        }
    }
}

/// Reads a limit as it is written in a body or a query.
///
/// # Errors
/// The reason, without the name.
pub(crate) fn limit(written: &str, plan: &ModelPlan) -> Result<usize, String> {
    let limit_max = plan.limit_max;
    match written.parse() {
        Ok(limit) if limit <= limit_max => Ok(limit),
        _ => Err(format!("must be a whole number from 0 to {limit_max}")),
    }
}

/// Reads an id; returns it and its place, quotes left out.
#[inline(always)]
fn id<'b, 'a: 'b>(
    json: &mut Json<'a>,
    key: &str,
    buffer: &'b mut String,
) -> Result<(&'b str, (usize, usize)), Refusal> {
    match json.peek()? {
        (Kind::Text, _) => {
            let text = json.text()?;
            let start = text.at + 1;
            Ok((text.decoded(buffer), (start, start + text.raw.len())))
        }
        (Kind::Number, at) => {
            let written = json.number()?;
            Ok((written, (at, at + written.len())))
        }
        (_, at) => Err(refusal::wrong(at, key, "holds an id that is no text and no number")),
    }
}

fn wanted(key: &str) -> &'static str {
    match key {
        "candidates" => "must be an array of ids or the name of a set",
        "exclude" => "must be an array of ids",
        "limit" => "must be a whole number",
        "explain" => "must be true or false",
        _ => "must be an object of features",
    }
}
