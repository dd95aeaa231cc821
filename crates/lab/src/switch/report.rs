//! Reports on an experiment with a switch: what it says, its effects, and each block.
//!
//! JSON has the verdict first, as other reports have. Text and HTML draw the median of each block
//! against time, blocks off and on as two lines.
//! Invariant: the verdict is on whole pairs only. Blocks are judged by `verdicts::switched`; a test
//! of single calls has no place here, because calls of a block are not independent.

use screen::number::{of, p, percent, time};
use screen::page::{self, figure, folded, table};
use screen::svg::{self, Title, escaped};
use screen::{Align, Cell, Column, Ink, Plot, Style, Table};
use serde::Serialize;
use verdicts::{BlockFigures, SwitchBlock, SwitchEffect, Unclear, Verdict, switched};

use super::SwitchRecord;
use crate::report::words::{amount, difference, figure_name};
use crate::report::{CallCounts, ReportOptions, TimeAxis, html, text};

const LINES: [&str; 2] = ["off", "on"];
const ABOUT: &str = "Median of each block: one line for blocks off, one for blocks on.";

/// A report on an experiment with a switch.
#[derive(Debug, Clone, Serialize)]
pub struct SwitchReport<'a> {
    /// What was called.
    pub name: &'a str,
    /// What the experiment says.
    #[serde(serialize_with = "crate::report::judged")]
    pub verdicts: Vec<Verdict>,
    /// What came of the calls.
    #[serde(flatten)]
    pub counts: CallCounts<'a>,
    /// The blocks in their order.
    pub blocks: Vec<BlockRow>,
    /// What has to be known of the measurement.
    pub notes: &'a [String],
    #[serde(skip)]
    effects: Vec<SwitchEffect>,
}

/// A block.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct BlockRow {
    /// Whether the switch stood on.
    pub on: bool,
    /// Milliseconds from the first block to this one.
    pub began_ms: f64,
    /// Calls that succeeded.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// What stands for it.
    #[serde(flatten)]
    pub figures: BlockFigures,
}

impl<'a> SwitchReport<'a> {
    /// Judges what was measured.
    pub fn new(record: &'a SwitchRecord, options: &ReportOptions) -> Self {
        let blocks: Vec<SwitchBlock> =
            record.blocks.iter().map(|timed| timed.block.clone()).collect();
        let found = switched(&blocks, options.slow_over_ms, options.seed);
        let first = record.blocks.first().map_or(0.0, |timed| timed.began_unix_ms);
        let rows = record.blocks.iter().zip(&found.figures).map(|(timed, figures)| BlockRow {
            on: timed.block.is_on,
            began_ms: timed.began_unix_ms - first,
            calls: timed.block.total_ms.len() as u64,
            failed: timed.block.failed,
            figures: *figures,
        });
        Self {
            name: &record.series.name,
            effects: found.verdict.effects.clone(),
            verdicts: vec![match record.series.is_empty() {
                true => Verdict::Unclear(Unclear { reason: "no call succeeded".to_owned() }),
                false => Verdict::Switch(found.verdict),
            }],
            counts: CallCounts::of(&record.series),
            blocks: rows.collect(),
            notes: &record.series.notes,
        }
    }

    /// Returns the report as one JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report has text keys only")
    }

    /// Returns the report as lines of text.
    pub fn to_text(&self, style: &Style) -> String {
        let mut out = String::new();
        text::push_wrapped(&mut out, self.name, 2, style);
        text::push_wrapped(&mut out, &self.summary(), 2, style);
        for (reason, number) in self.counts.failures {
            text::push_wrapped(&mut out, &format!("failed: {number} × {reason}"), 2, style);
        }
        let points = self.medians();
        let lines: Vec<&[(f64, f64)]> = points.iter().map(Vec::as_slice).collect();
        let axis = self.axis();
        let x = |at: f64| axis.label(at);
        let plot = Plot {
            lines: &lines,
            rows: text::PLOT_ROWS,
            is_log: false,
            marks: &[],
            x: &x,
            y: &screen::number::tick,
        };
        let title = "Median of each block over time (first line off, second on)";
        text::push_section(&mut out, title, &plot.render(style), style);
        text::push_section(&mut out, "Blocks off and on", &self.effect_table(style), style);
        let notes = text::bullets(self.notes.iter().map(String::as_str), style);
        text::push_section(&mut out, "Notes", &notes, style);
        text::push_section(&mut out, "Verdict", &text::verdicts(&self.verdicts, style), style);
        out
    }

    /// Returns the report as one self-contained HTML page.
    pub fn to_html(&self) -> String {
        let mut out = format!("<header>\n<h1>{}</h1>\n", escaped(self.name));
        out += &format!("<p class=\"faint\">{}</p>\n</header>\n", escaped(&self.summary()));
        out += "<section>\n<h2>Verdict</h2>\n";
        out += &html::verdicts(&self.verdicts);
        out += "</section>\n";
        let points = self.medians();
        let lines: Vec<&[(f64, f64)]> = points.iter().map(Vec::as_slice).collect();
        let axis = self.axis();
        let title = Title { short: "Median of each block", about: ABOUT };
        let drawing = svg::line(title, &lines, &[], &|at| axis.label(at), false);
        let below = html::keys(LINES[0], LINES[1]) + &folded(&self.block_table());
        out += &figure(title.short, &drawing, &below);
        let rows = self.effects.iter().map(|effect| {
            let [name, off, on, more, low, high, by_chance] = row(effect);
            (vec![name, off, on, more, low, high, by_chance], false)
        });
        let heads = ["", "off", "on", "on less off", "from", "to", "by chance"];
        out += &figure("Blocks off and on", "", &table(&heads, rows));
        out += &html::notes(self.notes);
        out +=
            "<footer>Made by <code>tidegate lab switch</code>. Intervals are at 95 %.</footer>\n";
        page::whole(&format!("{} · switch", self.name), &out)
    }

    /// One sentence of what was measured.
    fn summary(&self) -> String {
        let calls = of(self.counts.calls, "call", "calls");
        let blocks = of(self.blocks.len() as u64, "block", "blocks");
        let on = self.blocks.iter().filter(|block| block.on).count();
        let failed = match self.counts.failed {
            0 => String::new(),
            failed => format!("; {failed} more failed"),
        };
        format!("{calls} in {blocks}, {on} of them with the switch on{failed}.")
    }

    /// The median of each block against the moment it began: blocks off, and blocks on.
    fn medians(&self) -> [Vec<(f64, f64)>; 2] {
        let axis = self.axis();
        [false, true].map(|on| {
            let blocks = self.blocks.iter().filter(|block| block.on == on);
            let point =
                |block: &BlockRow| Some((block.began_ms / axis.unit_ms, block.figures.median_ms?));
            blocks.filter_map(point).collect()
        })
    }

    fn axis(&self) -> TimeAxis {
        TimeAxis::over(self.blocks.last().map(|block| block.began_ms))
    }

    fn effect_table(&self, style: &Style) -> String {
        let titles = ["off", "on", "on less off", "from", "to", "by chance"];
        let numbers = titles.map(|title| Column::new(title, Align::Right));
        let first = Column::new("", Align::Left);
        let mut table = Table::new(std::iter::once(first).chain(numbers).collect());
        for effect in &self.effects {
            let ink = |at: usize| if matches!(at, 4 | 5) { Ink::Faint } else { Ink::Plain };
            let cells = row(effect).into_iter().enumerate();
            table.push(cells.map(|(at, text)| Cell::new(text, ink(at))).collect());
        }
        if table.is_empty() { String::new() } else { table.render(style) }
    }

    fn block_table(&self) -> String {
        let known = |value: Option<f64>, read: fn(f64) -> String| {
            value.map_or_else(|| "–".to_owned(), read)
        };
        let rows = self.blocks.iter().enumerate().map(|(at, block)| {
            let row = vec![
                (at + 1).to_string(),
                LINES[usize::from(block.on)].to_owned(),
                block.calls.to_string(),
                block.failed.to_string(),
                known(block.figures.median_ms, time),
                known(block.figures.p95_ms, time),
                known(block.figures.slow_share, percent),
            ];
            (row, false)
        });
        table(&["block", "switch", "calls", "failed", "median", "p95", "slow"], rows)
    }
}

/// What is said of an effect: name, off, on, on less off, its interval, p.
fn row(effect: &SwitchEffect) -> [String; 7] {
    let end =
        |at: usize| effect.ci.map_or_else(|| "-".to_owned(), |ends| difference(effect, ends[at]));
    [
        figure_name(effect).to_owned(),
        amount(effect, effect.off),
        amount(effect, effect.on),
        difference(effect, effect.effect),
        end(0),
        end(1),
        p(effect.p),
    ]
}

#[cfg(test)]
mod tests;
