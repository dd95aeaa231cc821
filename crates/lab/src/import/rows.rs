//! Collects rows, failures and notes, and makes the columns of a series of them.
//!
//! Every format but session files ends here. Attributes whose texts are all numbers, `-` or empty
//! become numbers.
//! Invariant: a row goes in whole or not at all; its durations are finite and not negative. Times
//! are kept only when every row has one, and count from the earliest. Of an attribute with more
//! different texts than [`NAMES_MAX`] those beyond are kept as `(other)`, and a note says so. Of an
//! attribute that a row names twice the first text counts.
//! Steps keep the order in which they first came. To `verdicts` the first one may be where calls
//! are admitted, and so may one called `wait`.
//! Failure: a bad row is counted by its reason, and the first five are noted; when strict it is an
//! error. The page docs/lab/report-inputs.md has the number and the form. Rows outside the time
//! asked for, or held back by the filter, are counted in notes. Without a good row, any bad one is
//! an error; so is a file without calls. So is a time asked for where rows have no date.
//! How a file reads is in the modules beside this one; a session file is checked in
//! `session_file.rs`.

use std::collections::HashMap;

use verdicts::{Attribute, AttributeValues, CALL_MS_MAX, LeftOut, PhaseColumn, Series};

use crate::error::LabError;

use super::options::ReadOptions;
use super::server_timing;

/// Different texts of an attribute that are kept.
const NAMES_MAX: usize = 1 << 16;
/// Bad rows that are named in notes.
const PLACES_MAX: usize = 5;
/// Columns on a screen that a message has for where something is, and for what was found there.
const PLACE_MAX: usize = 200;
const FOUND_MAX: usize = 60;
/// What stands for texts beyond [`NAMES_MAX`].
const OTHER: &str = "(other)";

/// One call as a reader found it.
#[derive(Debug, Clone, Default)]
pub(super) struct CallRow<'a> {
    /// Milliseconds in all.
    pub total_ms: f64,
    /// Milliseconds since the Unix epoch, or since something else: `has_epoch` of
    /// [`SeriesBuilder`] tells which.
    pub began_ms: Option<f64>,
    /// Steps, in milliseconds. The same name again adds to it.
    pub phases: Vec<(&'a str, f64)>,
    /// Attributes; what reads as a number in every row becomes numbers.
    pub attributes: Vec<(&'a str, &'a str)>,
}

/// The columns so far.
pub(super) struct SeriesBuilder<'a> {
    name: &'a str,
    options: &'a ReadOptions,
    /// Whether times count from the Unix epoch.
    pub has_epoch: bool,
    total_ms: Vec<f64>,
    began_ms: Vec<f64>,
    is_untimed: bool,
    phases: Vec<PhaseColumn>,
    attributes: Vec<TextColumn>,
    left_out: LeftOut,
    notes: Vec<String>,
    /// Times that servers measured themselves, of each row; rows beyond the last have none.
    server_times: Vec<Vec<(String, f64)>>,
    server_errors: u64,
    bad: u64,
    outside: u64,
    filtered: u64,
}

impl<'a> SeriesBuilder<'a> {
    /// No rows of a file.
    pub(super) fn new(name: &'a str, options: &'a ReadOptions) -> Self {
        Self {
            name,
            options,
            has_epoch: true,
            total_ms: Vec::new(),
            began_ms: Vec::new(),
            is_untimed: false,
            phases: Vec::new(),
            attributes: Vec::new(),
            left_out: LeftOut::default(),
            notes: Vec::new(),
            server_times: Vec::new(),
            server_errors: 0,
            bad: 0,
            outside: 0,
            filtered: 0,
        }
    }

    pub(super) fn options(&self) -> &'a ReadOptions {
        self.options
    }

    /// Adds a note to the series.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Counts a call that the filter holds back.
    pub(super) fn filtered_out(&mut self) {
        self.filtered += 1;
    }

    /// Takes a row, unless it lies outside the time asked for.
    ///
    /// # Errors
    /// What [`bad`](Self::bad) says: a time of it may be no duration.
    pub(super) fn push(&mut self, row: &CallRow<'_>, line: u64) -> Result<(), LabError> {
        let durations =
            std::iter::once(("latency", row.total_ms)).chain(row.phases.iter().copied());
        for (column, ms) in durations {
            if let Some(reason) = not_a_duration(ms) {
                return self.bad(line, column, reason, &format!("`{ms}`"));
            }
        }
        if let Some(began) = row.began_ms.filter(|_| self.has_epoch)
            && !self.options.include(began)
        {
            self.outside += 1;
            return Ok(());
        }
        let at = self.total_ms.len();
        self.total_ms.push(row.total_ms);
        match row.began_ms.filter(|began| began.is_finite()) {
            Some(began) => self.began_ms.push(began),
            None => self.is_untimed = true,
        }
        for (name, ms) in &row.phases {
            self.phase(name, at).ms[at] += ms;
        }
        for (name, text) in &row.attributes {
            self.attribute(name).push(at, text);
        }
        Ok(())
    }

    /// Takes a row with the times that its server has measured itself.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(super) fn push_timed(
        &mut self,
        row: &CallRow<'_>,
        server_times: Vec<(String, f64)>,
        line: u64,
    ) -> Result<(), LabError> {
        let at = self.total_ms.len();
        self.push(row, line)?;
        if self.total_ms.len() > at && !server_times.is_empty() {
            self.server_times.resize(at, Vec::new());
            self.server_times.push(server_times);
        }
        Ok(())
    }

    /// Takes a row whose answer was an error of the server.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(super) fn push_error(
        &mut self,
        row: &CallRow<'_>,
        server_times: Vec<(String, f64)>,
        line: u64,
    ) -> Result<(), LabError> {
        let calls = self.total_ms.len();
        self.push_timed(row, server_times, line)?;
        self.server_errors += (self.total_ms.len() - calls) as u64;
        Ok(())
    }

    /// Counts a row that cannot be used, and notes the place of the first ones.
    ///
    /// # Errors
    /// `Row`, when no row may be bad.
    pub(super) fn bad(
        &mut self,
        line: u64,
        column: &str,
        reason: &str,
        found: &str,
    ) -> Result<(), LabError> {
        let place = match column {
            "" => format!("{}:{line}", self.name),
            column => format!("{}:{line}: {column}", self.name),
        };
        let place = cut(&place, PLACE_MAX);
        let text = match found {
            "" => reason.to_owned(),
            found => format!("{} is {reason}", cut(found, FOUND_MAX)),
        };
        if self.options.is_strict {
            return Err(LabError::Row { place, reason: text });
        }
        *self.left_out.bad.entry(reason.to_owned()).or_default() += 1;
        self.bad += 1;
        if self.bad <= PLACES_MAX as u64 {
            self.notes.push(format!("left out: {place}: {text}"));
        }
        Ok(())
    }

    /// Why the file as a whole cannot be read.
    pub(super) fn no_file(&self, reason: String) -> LabError {
        LabError::File { file: self.name.to_owned(), reason }
    }

    /// Counts a call that failed.
    pub(super) fn failed(&mut self, reason: &str) {
        *self.left_out.failed.entry(reason.to_owned()).or_default() += 1;
    }

    /// Returns the columns as a series.
    ///
    /// # Errors
    /// `File` when there were no rows, or all are bad; or when a time is asked for and rows have no
    /// date.
    pub(super) fn into_series(mut self) -> Result<Series, LabError> {
        let calls = self.total_ms.len();
        if calls == 0 && self.bad > 0 {
            let first = self.notes.first().map_or("", |note| note.trim_start_matches("left out: "));
            let reason = format!("no row is good; the first: {first}");
            return Err(LabError::File { file: self.name.to_owned(), reason });
        }
        let others = self.outside + self.filtered + self.left_out.failed.len() as u64;
        if calls == 0 && others == 0 {
            let notes: String = self.notes.iter().map(|note| format!("; {note}")).collect();
            return Err(self.no_file(format!("there is no call in it{notes}")));
        }
        let is_part = self.options.since_unix_ms.or(self.options.until_unix_ms).is_some();
        if is_part && calls > 0 && (self.is_untimed || !self.has_epoch) {
            let reason = "`--since` and `--until` need rows with a date and a time".to_owned();
            return Err(self.no_file(reason));
        }
        if self.bad > PLACES_MAX as u64 {
            self.notes.push(format!("left out: {} more rows", self.bad - PLACES_MAX as u64));
        }
        if self.outside > 0 {
            self.notes.push(format!("{} calls lie outside the time asked for", self.outside));
        }
        if self.filtered > 0 {
            self.notes.push(format!("the filter holds {} calls back", self.filtered));
        }
        if self.is_untimed && !self.began_ms.is_empty() {
            self.notes.push("some rows have no time, so none is used".to_owned());
        }
        if self.is_untimed {
            self.began_ms.clear();
        }
        let first = self.began_ms.iter().copied().reduce(f64::min);
        self.began_ms.iter_mut().for_each(|began| *began -= first.unwrap_or(0.0));
        for phase in &mut self.phases {
            phase.ms.resize(calls, 0.0);
        }
        let name = self.name.to_owned();
        let attributes: Vec<(Attribute, bool)> =
            self.attributes.into_iter().map(|texts| texts.into_attribute(calls)).collect();
        for (attribute, _) in attributes.iter().filter(|(_, is_cut)| *is_cut) {
            let name = &attribute.name;
            self.notes
                .push(format!("`{name}` has more than {NAMES_MAX} values; the rest is {OTHER}"));
        }
        let mut series = Series {
            name,
            total_ms: self.total_ms,
            began_ms: self.began_ms,
            origin_unix_ms: first.filter(|_| self.has_epoch),
            phases: self.phases,
            attributes: attributes.into_iter().map(|(attribute, _)| attribute).collect(),
            left_out: self.left_out,
            server_errors: self.server_errors,
            notes: self.notes,
        };
        let longer = longer_steps(&series);
        if longer > 0 {
            series.notes.push(format!(
                "in {} the steps add up to more than the whole: they overlap, or the \
                 whole is another time",
                screen::number::of(longer as u64, "call", "calls")
            ));
        }
        server_timing::place(&mut series, self.server_times);
        Ok(series)
    }

    /// The column of a step, filled with zeros up to row `at`.
    fn phase(&mut self, name: &str, at: usize) -> &mut PhaseColumn {
        let place = self.phases.iter().position(|phase| phase.name == name);
        let place = place.unwrap_or_else(|| {
            self.phases.push(PhaseColumn { name: name.to_owned(), ms: Vec::new() });
            self.phases.len() - 1
        });
        let phase = &mut self.phases[place];
        phase.ms.resize(at + 1, 0.0);
        phase
    }

    fn attribute(&mut self, name: &str) -> &mut TextColumn {
        let place = self.attributes.iter().position(|texts| texts.name == name);
        let place = place.unwrap_or_else(|| {
            self.attributes.push(TextColumn::new(name));
            self.attributes.len() - 1
        });
        &mut self.attributes[place]
    }
}

/// Calls whose steps add up to more than the whole, by more than rounding.
fn longer_steps(series: &Series) -> usize {
    let steps = |row: usize| series.phases.iter().map(|phase| phase.ms[row]).sum::<f64>();
    let is_longer = |row: &usize| steps(*row) > series.total_ms[*row] * 1.01 + 1.0;
    (0..series.len()).filter(is_longer).count()
}

/// Text of a file as a message takes it: without what moves a cursor, and not too long. What is
/// quoted stays so.
fn cut(text: &str, width: usize) -> String {
    let short = screen::cut(text, width, &screen::Style::default());
    let is_open = short.len() < text.len() && text.ends_with('`') && !short.ends_with('`');
    if is_open { short + "`" } else { short }
}

/// Returns why a number is no duration, in words.
fn not_a_duration(ms: f64) -> Option<&'static str> {
    match ms {
        _ if ms.is_nan() => Some("not a number"),
        _ if ms.is_infinite() => Some("infinite"),
        _ if ms < 0.0 => Some("negative"),
        _ if ms > CALL_MS_MAX => Some("longer than thirty years"),
        _ => None,
    }
}

/// The texts of an attribute, each kept once; and their numbers, as long as all are.
struct TextColumn {
    name: String,
    known: HashMap<Box<str>, u32>,
    names: Vec<String>,
    of: Vec<u32>,
    numbers: Option<Vec<f64>>,
    is_cut: bool,
}

impl TextColumn {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            known: HashMap::new(),
            names: Vec::new(),
            of: Vec::new(),
            numbers: Some(Vec::new()),
            is_cut: false,
        }
    }

    fn push(&mut self, at: usize, text: &str) {
        if self.of.len() > at {
            return;
        }
        let text = text.trim();
        self.fill(at);
        if let Some(numbers) = &mut self.numbers {
            match text.parse::<f64>() {
                Ok(number) if number.is_finite() => numbers.push(number),
                _ if text.is_empty() || text == "-" => numbers.push(f64::NAN),
                _ => self.numbers = None,
            }
        }
        let place = self.place(if text == "-" { "" } else { text });
        self.of.push(place);
    }

    /// Rows that lack the attribute.
    fn fill(&mut self, rows: usize) {
        if self.of.len() < rows {
            let none = self.place("");
            self.of.resize(rows, none);
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.resize(rows, f64::NAN);
        }
    }

    fn place(&mut self, text: &str) -> u32 {
        if let Some(place) = self.known.get(text) {
            return *place;
        }
        let text = if self.names.len() < NAMES_MAX {
            text
        } else {
            self.is_cut = true;
            OTHER
        };
        if let Some(place) = self.known.get(text) {
            return *place;
        }
        let place = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.known.insert(text.into(), place);
        place
    }

    fn into_attribute(mut self, calls: usize) -> (Attribute, bool) {
        self.fill(calls);
        let has_number = |numbers: &Vec<f64>| numbers.iter().any(|number| !number.is_nan());
        let (values, is_cut) = match self.numbers.filter(has_number) {
            Some(numbers) => (AttributeValues::Numbers(numbers), false),
            None => (AttributeValues::Names { names: self.names, of: self.of }, self.is_cut),
        };
        (Attribute { name: self.name, values }, is_cut)
    }
}

#[cfg(test)]
mod tests;
