//! Reads and checks the model file `tidegate-linear-1`: a linear or logistic model with named
//! features.
//!
//! ```json
//! {"format":"tidegate-linear-1","name":"news","version":"1","link":"logistic","intercept":-1.2,
//!  "features":[{"name":"item.popularity","weight":0.8,"mean":0.3,"scale":0.1,"missing":0.3}],
//!  "crosses":[{"left":"user.affinity.b","right":"item.category=b","weight":1.5}]}
//! ```
//!
//! The first segment of a feature name is its source (`item.`, `user.`, `context.`). The feature
//! `item.category=b` is 1 where the text field `category` is `b`, else 0.
//!
//! | term | contributes | where a value is absent or null |
//! |---|---|---|
//! | feature | `weight * (x - mean) / scale` | x is `missing`, by default the mean |
//! | cross | `weight * (left * right - mean) / scale` | a side is its feature's `missing`, else 0 |
//!
//! Optional are `link` (identity), `mean` (0), `scale` (1), `missing` (the mean), `intercept` (0),
//! `features` and `crosses` (none).
//!
//! Invariant: a [`Linear`] that was parsed holds only finite numbers, no scale of 0, no feature and
//! no cross twice. No field of it is both a number and a text. All problems are reported together.
//! Whether sums stay finite is found by `joined.rs`, with the items.
//! Refuses: unknown keys, so that a misspelt `mising` cannot pass silently. So servers before a new
//! key refuse files that have it.
//! `python/tidegate/linear.py` reads the same format by code of its own; `export.py` there writes
//! it. `predictor.rs` of crates/serving finds such a file by a copy of `FORMAT`. Terms are computed
//! in `joined.rs`, in `rows.rs`, and in `explain` of `rank.rs`. A new link function must keep the
//! order of sums, and also goes into `rows.rs` and `linear.py`.
//! Clients of crates/serving send columns in the order of [`Linear::names`], or by the text of each
//! name. So neither must change.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde_json::{Map, Value};

use crate::error::{Error, Problem};

/// The only format this version reads.
const FORMAT: &str = "tidegate-linear-1";

/// A validated linear model.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    pub name: String,
    pub version: String,
    pub link: LinkFunction,
    pub intercept: f64,
    pub features: Vec<Feature>,
    pub crosses: Vec<Cross>,
}

/// What turns the linear sum into the score that is shown. Both are monotonic, so the order of a
/// ranking never depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFunction {
    Identity,
    Logistic,
}

/// One weighted feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    pub name: FeatureName,
    pub weight: f64,
    pub mean: f64,
    /// Never 0.
    pub scale: f64,
    /// The value an absent x takes.
    pub missing: f64,
}

/// One weighted product of two features.
#[derive(Debug, Clone, PartialEq)]
pub struct Cross {
    pub left: FeatureName,
    pub right: FeatureName,
    pub weight: f64,
    pub mean: f64,
    /// Never 0.
    pub scale: f64,
}

/// Where a feature's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeatureSource {
    Item,
    User,
    Context,
}

/// A feature name, split: `item.category=b` is source item, field `category`, equals `b`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FeatureName {
    pub source: FeatureSource,
    pub field: String,
    /// The text that makes the feature 1; `None` for a number.
    pub equals: Option<String>,
}

impl Linear {
    /// Reads and validates a model file.
    ///
    /// # Errors
    /// [`Error::Model`] with every problem found; mend the file.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let value: Value = serde_json::from_slice(text)
            .map_err(|error| Error::Model(vec![Problem::new("model", error.to_string())]))?;
        let mut reader = Reader { problems: Vec::new() };
        let model = reader.model(&value);
        reader.same_field_one_kind(&model);
        match reader.problems.is_empty() {
            true => Ok(model),
            false => Err(Error::Model(reader.problems)),
        }
    }

    /// Returns every feature name the model reads, sides of crosses included, each once.
    pub fn names(&self) -> Vec<&FeatureName> {
        let features = self.features.iter().map(|feature| &feature.name);
        let sides = self.crosses.iter().flat_map(|cross| [&cross.left, &cross.right]);
        let mut seen = HashSet::new();
        features.chain(sides).filter(|name| seen.insert(*name)).collect()
    }

    /// Returns the raw value that an absent feature takes: its `missing`, or 0 for a name that
    /// occurs in crosses only.
    pub fn missing(&self, name: &FeatureName) -> f64 {
        let declared = self.features.iter().find(|feature| feature.name == *name);
        declared.map_or(0.0, |feature| feature.missing)
    }
}

impl LinkFunction {
    /// Returns the score for a linear sum.
    pub fn apply(self, sum: f64) -> f64 {
        match self {
            Self::Identity => sum,
            Self::Logistic => 1.0 / (1.0 + (-sum).exp()),
        }
    }
}

impl FeatureSource {
    /// Returns the first segment of the names of this source.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::User => "user",
            Self::Context => "context",
        }
    }
}

impl FeatureName {
    /// Splits a name.
    ///
    /// # Errors
    /// The reason, as text, where the name has no known source or no field.
    pub fn parse(name: &str) -> Result<Self, String> {
        let (source, rest) = name.split_once('.').unwrap_or((name, ""));
        let source = match source {
            "item" => FeatureSource::Item,
            "user" => FeatureSource::User,
            "context" => FeatureSource::Context,
            _ => return Err(format!("`{name}` must start with `item.`, `user.` or `context.`")),
        };
        let (field, equals) = match rest.split_once('=') {
            Some((field, equals)) => (field, Some(equals.to_owned())),
            None => (rest, None),
        };
        match field.is_empty() {
            true => Err(format!("`{name}` names no field")),
            false => Ok(Self { source, field: field.to_owned(), equals }),
        }
    }
}

impl fmt::Display for FeatureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.source.prefix(), self.field)?;
        match &self.equals {
            Some(equals) => write!(f, "={equals}"),
            None => Ok(()),
        }
    }
}

/// Walks the JSON and collects problems; what it returns is used only if there are none.
struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn model(&mut self, value: &Value) -> Linear {
        const KEYS: [&str; 7] =
            ["format", "name", "version", "link", "intercept", "features", "crosses"];
        let empty = Map::new();
        let map = self.object("model", value, &KEYS).unwrap_or(&empty);
        let format = self.text(map, "", "format");
        if !format.is_empty() && format != FORMAT {
            self.problem("`format`", format!("is `{format}`, this version reads `{FORMAT}`"));
        }
        Linear {
            name: self.text(map, "", "name"),
            version: self.text(map, "", "version"),
            link: self.link(map),
            intercept: self.number(map, "", "intercept", Some(0.0)),
            features: self.features(map),
            crosses: self.crosses(map),
        }
    }

    fn link(&mut self, map: &Map<String, Value>) -> LinkFunction {
        match map.get("link").map(Value::as_str) {
            None | Some(Some("identity")) => LinkFunction::Identity,
            Some(Some("logistic")) => LinkFunction::Logistic,
            Some(_) => {
                self.problem("`link`", "must be `identity` or `logistic`");
                LinkFunction::Identity
            }
        }
    }

    fn features(&mut self, map: &Map<String, Value>) -> Vec<Feature> {
        const KEYS: [&str; 5] = ["name", "weight", "mean", "scale", "missing"];
        let mut seen = HashSet::new();
        let mut features = Vec::new();
        for (index, value) in self.array(map, "features").iter().enumerate() {
            let at = format!("features[{index}]");
            let Some(entry) = self.object(&at, value, &KEYS) else { continue };
            let name = self.name(entry, &at, "name");
            let mean = self.number(entry, &at, "mean", Some(0.0));
            let feature = Feature {
                weight: self.number(entry, &at, "weight", None),
                scale: self.scale(entry, &at),
                missing: self.number(entry, &at, "missing", Some(mean)),
                mean,
                name: match name {
                    Some(name) => name,
                    None => continue,
                },
            };
            if !seen.insert(feature.name.clone()) {
                self.problem(&at, format!("feature `{}` is given twice", feature.name));
            }
            features.push(feature);
        }
        features
    }

    fn crosses(&mut self, map: &Map<String, Value>) -> Vec<Cross> {
        const KEYS: [&str; 5] = ["left", "right", "weight", "mean", "scale"];
        let mut seen = HashSet::new();
        let mut crosses = Vec::new();
        for (index, value) in self.array(map, "crosses").iter().enumerate() {
            let at = format!("crosses[{index}]");
            let Some(entry) = self.object(&at, value, &KEYS) else { continue };
            let sides = (self.name(entry, &at, "left"), self.name(entry, &at, "right"));
            let weight = self.number(entry, &at, "weight", None);
            let mean = self.number(entry, &at, "mean", Some(0.0));
            let scale = self.scale(entry, &at);
            let (Some(left), Some(right)) = sides else { continue };
            let mut pair = [left.to_string(), right.to_string()];
            pair.sort();
            if !seen.insert(pair) {
                self.problem(&at, format!("cross of `{left}` and `{right}` is given twice"));
            }
            crosses.push(Cross { left, right, weight, mean, scale });
        }
        crosses
    }

    /// A field is either a number or a text; a model that wants both can never be right.
    fn same_field_one_kind(&mut self, model: &Linear) {
        let mut kinds: HashMap<(FeatureSource, &str), bool> = HashMap::new();
        for name in model.names() {
            let is_text = name.equals.is_some();
            let kind = kinds.entry((name.source, &name.field)).or_insert(is_text);
            if *kind != is_text {
                let field = format!("{}.{}", name.source.prefix(), name.field);
                self.problem(&format!("`{field}`"), "is used as a number and as a text");
                *kind = is_text;
            }
        }
    }

    fn object<'a>(
        &mut self,
        at: &str,
        value: &'a Value,
        keys: &[&str],
    ) -> Option<&'a Map<String, Value>> {
        let Some(map) = value.as_object() else {
            self.problem(at, "must be an object");
            return None;
        };
        for key in map.keys().filter(|key| !keys.contains(&key.as_str())) {
            self.problem(at, format!("unknown key `{key}`; known are {}", keys.join(", ")));
        }
        Some(map)
    }

    fn array<'a>(&mut self, map: &'a Map<String, Value>, key: &str) -> &'a [Value] {
        match map.get(key) {
            None => &[],
            Some(Value::Array(values)) => values,
            Some(_) => {
                self.problem(&format!("`{key}`"), "must be an array");
                &[]
            }
        }
    }

    fn text(&mut self, map: &Map<String, Value>, at: &str, key: &str) -> String {
        match map.get(key) {
            Some(Value::String(text)) if !text.is_empty() => return text.clone(),
            Some(_) => self.problem(&place(at, key), "must be a non-empty text"),
            None => self.problem(&place(at, key), "is missing"),
        }
        String::new()
    }

    fn name(&mut self, map: &Map<String, Value>, at: &str, key: &str) -> Option<FeatureName> {
        let text = self.text(map, at, key);
        if text.is_empty() {
            return None;
        }
        let name = FeatureName::parse(&text);
        name.map_err(|reason| self.problem(&place(at, key), reason)).ok()
    }

    /// `default` is what an absent number takes; without one it must be given.
    fn number(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        key: &str,
        default: Option<f64>,
    ) -> f64 {
        match (map.get(key).map(Value::as_f64), default) {
            (Some(Some(number)), _) if number.is_finite() => return number,
            (Some(_), _) => self.problem(&place(at, key), "must be a finite number"),
            (None, Some(default)) => return default,
            (None, None) => self.problem(&place(at, key), "is missing"),
        }
        0.0
    }

    fn scale(&mut self, map: &Map<String, Value>, at: &str) -> f64 {
        let scale = self.number(map, at, "scale", Some(1.0));
        if scale == 0.0 && map.get("scale").is_some_and(Value::is_number) {
            self.problem(&place(at, "scale"), "is 0, which would divide by zero");
        }
        scale
    }

    fn problem(&mut self, at: &str, reason: impl Into<String>) {
        self.problems.push(Problem::new(at, reason));
    }
}

fn place(at: &str, key: &str) -> String {
    match at {
        "" => format!("`{key}`"),
        _ => format!("`{at}.{key}`"),
    }
}

#[cfg(test)]
mod tests;
