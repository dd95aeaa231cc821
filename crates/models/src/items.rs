//! Reads the items file, one JSON object a line, into columns that stay resident.
//!
//! ```json
//! {"id":"17","title":"…","category":"b","popularity":0.31,"freshness":0.8}
//! ```
//!
//! | value | means |
//! |---|---|
//! | `id` | a unique text that is not empty |
//! | `title`, `category` | texts |
//! | a number, `true`, `false` | a feature; truths are 1 and 0 |
//! | another text | a source of one-hot features |
//! | a nested object | flattened with dots; a name that two values get is a problem |
//! | null | absent |
//!
//! Empty lines are skipped. Only the fields that the caller wants are kept, each as a column.
//! `category` always is: `rank/best.rs` and crates/serving ask for it. `shown` is JSON that replies
//! copy as it is (`"id":…,"title":…,"price":9.5`): members of a line, by default all, in its order
//! and as it writes them. It takes at most the file's length, and nulls for fields that are absent.
//! Members that replies have themselves ([`REPLY_FIELDS`]) are not shown.
//!
//! Invariants: rows stand in the order of the file, by which rankings order equal scores. Every
//! column that is held has one entry per row; NaN and `ABSENT` stand for absent.
//! No number is beyond ±1e30, so it and its differences fit an f32. `joined.rs` takes the number
//! columns out; then [`Items::number`] gives `None`.
//! Refuses: arrays, a text where a number is wanted and the reverse, an id twice. Also a file
//! without items, of 4 GiB or more, or over 100 million items. Problems are reported together, up
//! to about 1000. One problem refuses the whole file.
//! `crates/profiles/src/rebuild.rs` reads `id` and a category of the same file by itself.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{Error, Problem};
use crate::ids::Ids;

/// The largest magnitude of a number.
const NUMBER_MAX: f64 = 1e30;
/// Problems kept; the rest of a broken file says nothing new.
const PROBLEMS_MAX: usize = 1000;
const ITEMS_MAX: usize = 100_000_000;
/// Names of fields that are remembered, to tell which there are.
const NAMES_MAX: usize = 10_000;

/// What a reply says of an item beside the item's fields.
pub const REPLY_FIELDS: [&str; 2] = ["score", "explain"];

/// Fields that a reply has of each item, if all are shown; null where an item has none.
const ALWAYS_SHOWN: [&str; 2] = ["title", "category"];

/// Items by row, in file order.
#[derive(Debug)]
pub struct Items {
    ids: Ids,
    shown: String,
    /// `shown_ends[row]` is where the JSON of `row` ends in `shown`.
    shown_ends: Vec<u64>,
    numbers: HashMap<String, Vec<f64>>,
    texts: HashMap<String, Codes>,
    names: HashSet<String>,
}

/// The fields to keep.
#[derive(Debug, Default, Clone)]
pub struct WantedColumns {
    pub numbers: Vec<String>,
    pub texts: Vec<String>,
    /// Members of a line that replies show, beside `id`; all where it is `None`.
    pub shown: Option<Vec<String>>,
}

impl WantedColumns {
    /// Returns the fields that a model reads, and that no item has.
    pub fn absent_from(&self, items: &Items) -> Vec<String> {
        let fields = self.numbers.iter().chain(&self.texts).filter(|field| !items.has(field));
        fields.cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// A text field as a dictionary and one code per row.
#[derive(Debug, Default)]
pub struct Codes {
    values: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl Items {
    /// Reads JSON lines.
    ///
    /// # Errors
    /// [`Error::Items`] with every problem found and its line; mend the file.
    pub fn parse(text: &[u8], wanted: &WantedColumns) -> Result<Self, Error> {
        if u32::try_from(text.len()).is_err() {
            let problem = Problem::new("file", "is larger than 4 GB");
            return Err(Error::Items(vec![problem]));
        }
        let shown = wanted.shown.as_deref();
        let mut reader = Reader { items: Self::empty(wanted), shown, problems: Vec::new() };
        for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
            if !line.trim_ascii().is_empty() && reader.problems.len() < PROBLEMS_MAX {
                reader.line(index + 1, line);
            }
        }
        if reader.items.is_empty() && reader.problems.is_empty() {
            reader.problems.push(Problem::new("file", "holds no item"));
        }
        match reader.problems.is_empty() {
            true => Ok(reader.items),
            false => Err(Error::Items(reader.problems)),
        }
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the row of an id.
    #[inline]
    pub fn row(&self, id: &[u8]) -> Option<u32> {
        self.ids.row(id)
    }

    /// Returns the id of a row.
    pub fn id(&self, row: u32) -> &str {
        self.ids.id(row)
    }

    /// Returns the names of fields that items have, nested ones dotted too; the first 10,000.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns whether some item has a field of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.names.len() == NAMES_MAX
    }

    /// Returns what a reply shows of a row: `"id":"17","title":"…","category":"b"`, without braces.
    pub fn shown(&self, row: u32) -> &str {
        let row = row as usize;
        let start = row.checked_sub(1).map_or(0, |before| self.shown_ends[before]);
        &self.shown[start as usize..self.shown_ends[row] as usize]
    }

    /// Returns a number column as read, NaN where absent; `None` if it was not wanted.
    pub fn number(&self, field: &str) -> Option<&[f64]> {
        self.numbers.get(field).map(Vec::as_slice)
    }

    /// Returns a text column; `None` if it was not wanted.
    pub fn text(&self, field: &str) -> Option<&Codes> {
        self.texts.get(field)
    }

    /// Returns the bytes of text held, ids and what replies show.
    pub fn text_bytes(&self) -> usize {
        self.ids.text_bytes() + self.shown.len()
    }

    /// Hands the number columns over, for a ranker that packs them its own way.
    pub(crate) fn take_numbers(&mut self) -> HashMap<String, Vec<f64>> {
        std::mem::take(&mut self.numbers)
    }

    fn empty(wanted: &WantedColumns) -> Self {
        let texts = wanted.texts.iter().map(String::as_str).chain(["category"]);
        Self {
            ids: Ids::new(),
            shown: String::new(),
            shown_ends: Vec::new(),
            numbers: wanted.numbers.iter().map(|field| (field.clone(), Vec::new())).collect(),
            texts: texts.map(|field| (field.to_owned(), Codes::default())).collect(),
            names: HashSet::new(),
        }
    }
}

impl Codes {
    /// The code of a row without this text.
    pub const ABSENT: u32 = u32::MAX;

    /// Returns the code of a text; `None` if no row has it.
    pub fn code(&self, text: &str) -> Option<u32> {
        self.values.get(text).copied()
    }

    /// Returns one code per row.
    pub fn rows(&self) -> &[u32] {
        &self.codes
    }

    /// Returns the number of different texts; codes are below it.
    pub fn distinct(&self) -> usize {
        self.values.len()
    }

    /// Returns the texts with their codes, in no order.
    pub fn values(&self) -> impl Iterator<Item = (&str, u32)> {
        self.values.iter().map(|(text, code)| (text.as_str(), *code))
    }

    fn push(&mut self, text: Option<&str>) {
        let code = text.map_or(Self::ABSENT, |text| match self.values.get(text) {
            Some(code) => *code,
            None => {
                let code = self.values.len() as u32;
                self.values.insert(text.to_owned(), code);
                code
            }
        });
        self.codes.push(code);
    }
}

struct Reader<'w> {
    items: Items,
    shown: Option<&'w [String]>,
    problems: Vec<Problem>,
}

/// The members of a line, in its order, as it writes them.
struct Members<'l>(Vec<(String, &'l RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

impl Reader<'_> {
    fn line(&mut self, number: usize, line: &[u8]) {
        let before = self.problems.len();
        let at = format!("line {number}");
        let members = serde_json::from_slice::<Members<'_>>(line);
        let read =
            members.and_then(|members| serde_json::from_slice(line).map(|map| (members, map)));
        match read {
            Ok((members, mut map)) => self.item(&at, &members, &mut map),
            Err(error) => self.problem(&at, json_reason(&error)),
        }
        debug_assert!(
            self.problems.len() > before || self.items.shown_ends.len() == self.items.ids.len(),
            "a good line fills every column"
        );
    }

    fn item(&mut self, at: &str, members: &Members<'_>, map: &mut Map<String, Value>) {
        let before = self.problems.len();
        self.name(members.0.iter().map(|(name, _)| name));
        for names in flatten(map) {
            self.problem(at, format!("{names} have one name; rename one of them"));
        }
        self.name(map.keys());
        for (field, value) in map.iter() {
            self.check(at, field, value);
        }
        let id = match map.get("id") {
            Some(Value::String(id)) if !id.is_empty() => id.as_str(),
            Some(_) => return self.problem(at, "`id` must be a non-empty text"),
            None => return self.problem(at, "`id` is missing"),
        };
        if self.problems.len() > before {
            return;
        }
        if self.items.len() == ITEMS_MAX {
            return self.problem(at, format!("more than {ITEMS_MAX} items"));
        }
        if !self.items.ids.push(id) {
            return self.problem(at, format!("id `{id}` is given twice"));
        }
        self.show(members);
        for (field, column) in &mut self.items.numbers {
            column.push(map.get(field).and_then(number).unwrap_or(f64::NAN));
        }
        for (field, column) in &mut self.items.texts {
            column.push(map.get(field).and_then(Value::as_str));
        }
    }

    fn check(&mut self, at: &str, field: &str, value: &Value) {
        let is_text =
            ["title", "category"].contains(&field) || self.items.texts.contains_key(field);
        let reason = match value {
            Value::Array(_) => "is an array; an item holds texts and numbers",
            Value::Number(_) | Value::Bool(_) if is_text => "must be a text",
            Value::String(_) if self.items.numbers.contains_key(field) => "must be a number",
            Value::Number(_) if number(value).is_none_or(|x| x.abs() > NUMBER_MAX) => {
                "is beyond 1e30"
            }
            _ => return,
        };
        self.problem(at, format!("`{field}` {reason}"));
    }

    fn name<'n>(&mut self, names: impl Iterator<Item = &'n String>) {
        let known = &mut self.items.names;
        for name in names {
            if known.len() < NAMES_MAX && !known.contains(name) {
                known.insert(name.clone());
            }
        }
    }

    /// Adds what replies show of an item.
    fn show(&mut self, Members(members): &Members<'_>) {
        let shown = &mut self.items.shown;
        let begun = shown.len();
        let mut push = |name: &str, value: &str| {
            if shown.len() > begun {
                shown.push(',');
            }
            shown.push_str(&serde_json::to_string(name).expect("a text is always JSON"));
            shown.push(':');
            shown.push_str(value);
        };
        let is_wanted = |name: &str| match self.shown {
            Some(wanted) => name == "id" || wanted.iter().any(|wanted| wanted == name),
            None => !REPLY_FIELDS.contains(&name),
        };
        for (index, (name, value)) in members.iter().enumerate() {
            // Of a name given twice the last counts, as everywhere.
            let is_last = members[index + 1..].iter().all(|(other, _)| other != name);
            if is_wanted(name) && is_last {
                push(name, value.get());
            }
        }
        let mut push_absent = |name: &str| {
            if members.iter().all(|(other, _)| other != name) {
                push(name, "null");
            }
        };
        match self.shown {
            Some(wanted) => wanted.iter().for_each(|name| push_absent(name)),
            None => ALWAYS_SHOWN.into_iter().for_each(push_absent),
        }
        self.items.shown_ends.push(self.items.shown.len() as u64);
    }

    fn problem(&mut self, at: &str, reason: impl Into<String>) {
        self.problems.push(Problem::new(at, reason));
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        _ => value.as_f64(),
    }
}

/// Moves the members of nested objects up, under dotted names. Returns both names of values that
/// would stand in one place.
fn flatten(map: &mut Map<String, Value>) -> Vec<String> {
    let mut twice = Vec::new();
    while let Some(key) = map.iter().find(|(_, v)| v.is_object()).map(|(key, _)| key.clone()) {
        let Some(Value::Object(inner)) = map.remove(&key) else { break };
        for (name, value) in inner {
            if map.insert(format!("{key}.{name}"), value).is_some() {
                twice.push(format!("`{key}.{name}` and `{name}` in `{key}`"));
            }
        }
    }
    twice
}

/// serde_json says `line 1` for every line of a line-wise file; only the column is news.
fn json_reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text);
    format!("malformed JSON at column {}: {reason}", error.column())
}

#[cfg(test)]
mod tests;
