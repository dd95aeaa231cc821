//! Reports on the steps of calls alone: which are slow, whose the excess is, and how two columns go
//! together.
//!
//! Figures, drawings and verdicts are those of [`Report`], without what is said of the
//! distribution and of attributes. The test of exposure is shown as a table, too: the slow-downs of
//! each step beside those that its time would get. A [`Scatter`] may stand below.
//! Invariant: a series without steps is an error, not an empty report. Steps do not overlap: who
//! reads spans counts the critical path (`import/otlp.rs`).

use screen::number::{count, digits, percent};
use screen::page::{self, figure, table};
use screen::svg::escaped;
use screen::{Align, Cell, Column, Ink, Style, Table};
use serde::Serialize;
use verdicts::{Series, Split, StepExposure, steps};

use super::html::HtmlReport;
use super::sentences::summary;
use super::text::TextReport;
use super::{Report, ReportOptions, Scatter, html, text};
use crate::LabError;

const EXPOSURE: &str = "Slow-downs against the time spent in each step";

/// A report on steps.
#[derive(Debug, Clone, Serialize)]
pub struct StepsReport<'a> {
    /// The report that it is a part of.
    #[serde(flatten)]
    report: Report<'a>,
    /// What the test of exposure compares.
    exposure: Vec<StepExposure>,
    /// How two columns go together.
    #[serde(skip_serializing_if = "Option::is_none")]
    scatter: Option<Scatter>,
}

impl<'a> StepsReport<'a> {
    /// Reports on the steps of a series.
    ///
    /// # Errors
    /// `Input`, when its calls have no steps.
    pub fn new(
        series: &'a Series,
        options: &ReportOptions,
        scatter: Option<Scatter>,
    ) -> Result<Self, LabError> {
        if series.phases.is_empty() && !series.is_empty() {
            return Err(LabError::Input(format!(
                "read `{}`: its calls have no steps; a CSV has them in columns `NAME_ms`",
                series.name
            )));
        }
        let split = Split::new(&series.total_ms, options.slow_over_ms);
        let mut found = steps(series, &split, options.seed);
        let exposure = std::mem::take(&mut found.exposures);
        let verdicts = found.verdicts.clone();
        let report = Report::of_steps(series, &split, found, verdicts);
        Ok(Self { report, exposure, scatter })
    }

    /// Returns the report as one JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report has text keys only")
    }

    /// Returns the report as lines of text.
    pub fn to_text(&self, style: &Style) -> String {
        let part = TextReport { report: &self.report, style };
        let mut out = part.head();
        text::push_section(&mut out, "Steps", &part.steps(), style);
        text::push_section(&mut out, EXPOSURE, &self.exposure_table(style), style);
        let title = "Steps, slow calls against typical ones";
        text::push_section(&mut out, title, &part.step_table(), style);
        if let Some(scatter) = &self.scatter {
            text::push_section(&mut out, &scatter.title(), &scatter.to_text(style), style);
        }
        let notes = text::bullets(self.report.notes.iter().map(String::as_str), style);
        text::push_section(&mut out, "Notes", &notes, style);
        let verdicts = text::verdicts(&self.report.verdicts, style);
        text::push_section(&mut out, "Verdict", &verdicts, style);
        out
    }

    /// Returns the report as one self-contained HTML page.
    pub fn to_html(&self) -> String {
        let part = HtmlReport(&self.report);
        let mut out = format!("<header>\n<h1>Steps of {}</h1>\n", escaped(self.report.name));
        out += &format!("<p class=\"faint\">{}</p>\n", escaped(&summary(&self.report)));
        out += &part.reasons();
        out += "</header>\n<section>\n<h2>Verdict</h2>\n";
        out += &html::verdicts(&self.report.verdicts);
        out += "</section>\n";
        out += &part.steps();
        let rows = self
            .exposure
            .iter()
            .map(|step| (Self::row(step).to_vec(), self.report.is_significant(&step.step)));
        let heads = ["step", "slow-downs", "by its time", "ratio from", "to", "part of the time"];
        out += &figure(EXPOSURE, "", &table(&heads, rows));
        out += &self.scatter.as_ref().map_or_else(String::new, Scatter::to_html);
        out += &html::notes(self.report.notes);
        out += "<footer>Made by <code>tidegate lab steps</code>. Intervals are at 95 %.</footer>\n";
        page::whole(&format!("{} · steps", self.report.name), &out)
    }

    fn exposure_table(&self, style: &Style) -> String {
        let titles = ["slow-downs", "by its time", "ratio from", "to", "part of the time"];
        let numbers = titles.map(|title| Column::new(title, Align::Right));
        let first = Column::new("step", Align::Left);
        let mut table = Table::new(std::iter::once(first).chain(numbers).collect());
        for step in &self.exposure {
            let ink = if self.report.is_significant(&step.step) { Ink::Alarm } else { Ink::Plain };
            let [name, numbers @ ..] = Self::row(step);
            let cells = numbers.into_iter().map(Cell::from);
            table.push(std::iter::once(Cell::new(name, ink)).chain(cells).collect());
        }
        if table.is_empty() { String::new() } else { table.render(style) }
    }

    /// A step with what was seen, what its time explains, and the ratio's interval.
    fn row(step: &StepExposure) -> [String; 6] {
        let end =
            |at: usize| step.ratio_ci.map_or_else(|| "-".to_owned(), |ends| digits(ends[at], 2));
        let expected = digits(step.expected, 2);
        let (seen, time) = (count(step.slowdowns), percent(step.time_share));
        [step.step.clone(), seen, expected, end(0), end(1), time]
    }
}

#[cfg(test)]
mod tests;
