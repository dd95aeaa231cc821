//! Draws one column of calls against another, and says how they go together.
//!
//! A column is `total`, a step, `untracked`, or an attribute of numbers. By an attribute, such as
//! worker or process, each of its values is one point: the medians of its calls. Then the points
//! are as independent as workers are; single calls of one worker are not.
//! Invariant: calls without one of both numbers are left out and counted. Every point counts in
//! the correlation. A drawing shows points that fall together once.
//! Failure: a column that is not there, or holds names, is an error that lists what there is.

use std::collections::BTreeMap;

use screen::number::{count, digits, of, tick};
use screen::page::figure;
use screen::svg::{self, Title, escaped};
use screen::{Plot, Style};
use serde::Serialize;
use verdicts::{
    Attribute, AttributeValues, RankCorrelation, Series, Sorted, UNTRACKED, rank_correlation,
};

use super::text;
use crate::LabError;

const TOTAL: &str = "total";

/// One column of calls against another.
#[derive(Debug, Clone, Serialize)]
pub struct Scatter {
    /// The column that goes across.
    pub x: String,
    /// The column that goes up.
    pub y: String,
    /// The attribute of which each value is a point; a point is a call without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Calls that lack one of the numbers.
    pub left_out: u64,
    /// How both go together; absent for too few points, or where one does not vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<RankCorrelation>,
    #[serde(skip)]
    points: Vec<(f64, f64)>,
    /// Whether each of both is milliseconds.
    #[serde(skip)]
    are_times: [bool; 2],
}

impl Scatter {
    /// Takes two columns of a series, `axes` across and up.
    ///
    /// # Errors
    /// `Input`, when a column is not there or holds no numbers.
    pub fn new(series: &Series, axes: [&str; 2], by: Option<&str>) -> Result<Self, LabError> {
        let [across, up] = axes;
        let ((x, x_is_time), (y, y_is_time)) = (column(series, across)?, column(series, up)?);
        let calls = x.into_iter().zip(y);
        let is_whole = |point: &(f64, f64)| point.0.is_finite() && point.1.is_finite();
        let whole = calls.clone().filter(is_whole).count();
        let points: Vec<(f64, f64)> = match by {
            None => calls.filter(is_whole).collect(),
            Some(name) => {
                let values = values(attribute(series, name)?);
                let mut groups: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
                for (value, (x, y)) in values.zip(calls).filter(|(_, point)| is_whole(point)) {
                    let group = groups.entry(value).or_default();
                    group.0.push(x);
                    group.1.push(y);
                }
                let medians = groups.into_values();
                medians.map(|(x, y)| (Sorted::new(&x).median(), Sorted::new(&y).median())).collect()
            }
        };
        Ok(Self {
            x: across.to_owned(),
            y: up.to_owned(),
            by: by.map(str::to_owned),
            left_out: (series.len() - whole) as u64,
            correlation: rank_correlation(&points),
            points,
            are_times: [x_is_time, y_is_time],
        })
    }

    pub(super) fn title(&self) -> String {
        let by = self.by.as_ref().map_or_else(String::new, |by| format!(", by {by}"));
        format!("{} against {}{by}", self.y, self.x)
    }

    pub(super) fn to_text(&self, style: &Style) -> String {
        // A point that is not finite ends a line, so each point is a line of its own.
        let dots = self.points.iter().flat_map(|point| [*point, (f64::NAN, f64::NAN)]);
        let dots: Vec<(f64, f64)> = dots.collect();
        let (x, y) = (self.label(0), self.label(1));
        let plot = Plot {
            lines: &[&dots],
            rows: text::PLOT_ROWS,
            is_log: false,
            marks: &[],
            x: &x,
            y: &y,
        };
        let mut out = plot.render(style);
        text::push_wrapped(&mut out, &self.sentence(), 2, style);
        out
    }

    pub(super) fn to_html(&self) -> String {
        let (short, sentence) = (self.title(), self.sentence());
        let title = Title { short: &short, about: &sentence };
        let drawing = svg::scatter(title, &self.points, &self.label(0), &self.label(1));
        figure(&short, &drawing, &format!("<p>{}</p>", escaped(&sentence)))
    }

    /// How the places of an axis read.
    fn label(&self, axis: usize) -> impl Fn(f64) -> String {
        let is_time = self.are_times[axis];
        move |value| {
            if is_time {
                return tick(value);
            }
            let text = digits(value, 4);
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
    }

    /// How both go together, in words.
    fn sentence(&self) -> String {
        let points = match &self.by {
            Some(by) => format!("values of {by}"),
            None => "calls".to_owned(),
        };
        let left_out = match self.left_out {
            0 => String::new(),
            left_out => format!("; {} without both numbers", of(left_out, "call", "calls")),
        };
        let points = format!("{} {points}{left_out}", count(self.points.len() as u64));
        let Some(found) = self.correlation else {
            return format!(
                "No rank correlation: too few points, or one does not vary ({points})."
            );
        };
        let [low, high] = found.ci;
        let how = match () {
            () if low > 0.0 => "both rise together",
            () if high < 0.0 => "one falls as the other rises",
            () => "neither follows the other, as far as is seen",
        };
        format!("Rank correlation {:.2} (95 % {low:.2} to {high:.2}): {how} ({points}).", found.rho)
    }
}

/// The numbers of a column, NaN where a call has none, and whether they are milliseconds.
fn column(series: &Series, name: &str) -> Result<(Vec<f64>, bool), LabError> {
    if let Some(phase) = series.phases.iter().find(|phase| phase.name == name) {
        return Ok((phase.ms.clone(), true));
    }
    match name {
        TOTAL => return Ok((series.total_ms.clone(), true)),
        UNTRACKED => {
            let mut rest = series.total_ms.clone();
            for phase in &series.phases {
                rest.iter_mut().zip(&phase.ms).for_each(|(rest, ms)| *rest -= ms);
            }
            return Ok((rest, true));
        }
        _ => {}
    }
    match &attribute(series, name)?.values {
        AttributeValues::Numbers(numbers) => Ok((numbers.clone(), name.ends_with("_ms"))),
        AttributeValues::Names { .. } => Err(LabError::Input(format!(
            "`{name}` holds names, not numbers; `--by {name}` groups by it"
        ))),
    }
}

fn attribute<'s>(series: &'s Series, name: &str) -> Result<&'s Attribute, LabError> {
    let found = series.attributes.iter().find(|attribute| attribute.name == name);
    found.ok_or_else(|| {
        let steps = series.phases.iter().map(|phase| phase.name.as_str());
        let attributes = series.attributes.iter().map(|attribute| attribute.name.as_str());
        let all: Vec<&str> =
            [TOTAL, UNTRACKED].into_iter().chain(steps).chain(attributes).collect();
        LabError::Input(format!("there is no column `{name}`; there are {}", all.join(", ")))
    })
}

/// The value of each call.
fn values(attribute: &Attribute) -> Box<dyn Iterator<Item = String> + '_> {
    match &attribute.values {
        AttributeValues::Names { names, of } => {
            Box::new(of.iter().map(|at| names[*at as usize].clone()))
        }
        AttributeValues::Numbers(numbers) => Box::new(numbers.iter().map(f64::to_string)),
    }
}

#[cfg(test)]
mod tests;
