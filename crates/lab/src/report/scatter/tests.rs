//! Claims about one column against another.

use super::*;
use verdicts::PhaseColumn;

/// Forty calls of four workers; `query` rises with the process's age, `parse` does not.
fn aged() -> Series {
    let rows = 0..40_u32;
    let age: Vec<f64> = rows.clone().map(|at| f64::from(at * 7 % 40)).collect();
    let query: Vec<f64> = age.iter().map(|age| 5.0 + age * age).collect();
    let parse: Vec<f64> = rows.clone().map(|at| f64::from(at * 13 % 40)).collect();
    let total = query.iter().zip(&parse).map(|(query, parse)| query + parse + 1.0);
    let mut missing = age.clone();
    missing[5] = f64::NAN;
    Series {
        total_ms: total.collect(),
        phases: vec![
            PhaseColumn { name: "query".into(), ms: query },
            PhaseColumn { name: "parse".into(), ms: parse },
        ],
        attributes: vec![
            Attribute { name: "age".into(), values: AttributeValues::Numbers(missing) },
            Attribute {
                name: "worker".into(),
                values: AttributeValues::Names {
                    names: ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(),
                    of: age.iter().map(|age| *age as u32 / 8).collect(),
                },
            },
        ],
        ..Series::default()
    }
}

#[test]
fn a_step_that_rises_with_an_attribute_has_a_rank_correlation_of_one() {
    let found = Scatter::new(&aged(), ["age", "query"], None).unwrap();
    let correlation = found.correlation.unwrap();
    assert_eq!((correlation.rho, correlation.pairs, found.left_out), (1.0, 39, 1));
    let text = found.to_text(&Style { width: 120, ..Style::default() });
    assert!(text.contains("both rise together (39 calls; 1 call without both numbers)."), "{text}");
    assert_eq!(found.title(), "query against age");
    let svg = found.to_html();
    assert!(svg.contains("class=\"dots first\"") && svg.contains("Rank correlation 1.00"), "{svg}");
    let other = Scatter::new(&aged(), ["total", "parse"], None).unwrap().correlation.unwrap();
    assert!(other.ci[0] < 0.0 && other.ci[1] > 0.0, "{other:?}");
}

#[test]
fn by_an_attribute_each_value_is_one_point_of_medians() {
    let found = Scatter::new(&aged(), ["total", "query"], Some("worker")).unwrap();
    assert_eq!((found.points.len(), found.correlation.unwrap().rho), (5, 1.0));
    assert_eq!(found.points[0].1, 5.0 + 12.5);
    let text = found.to_text(&Style { width: 120, ..Style::default() });
    assert!(text.contains("(5 values of worker)"), "{text}");
    // By a number, too.
    assert_eq!(Scatter::new(&aged(), ["total", "query"], Some("age")).unwrap().points.len(), 40);
}

#[test]
fn points_are_dots_that_nothing_joins() {
    let mut series = aged();
    series.keep(&(0..40).map(|row| row == 0 || row == 39).collect::<Vec<_>>());
    let found = Scatter::new(&series, ["query", "parse"], None).unwrap();
    let text = found.to_text(&Style { width: 60, ascii: true, ..Style::default() });
    let drawing: String = text.lines().take_while(|line| !line.contains("Rank")).collect();
    assert_eq!(drawing.matches('*').count(), 2, "{text}");
    assert!(text.contains("No rank correlation"), "{text}");
}

#[test]
fn a_column_that_is_not_there_or_no_number_is_refused_with_what_there_is() {
    let error = Scatter::new(&aged(), ["size", "query"], None).unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no column `size`; there are total, untracked, query, parse, age, worker"
    );
    let error = Scatter::new(&aged(), ["worker", "query"], None).unwrap_err().to_string();
    assert_eq!(error, "`worker` holds names, not numbers; `--by worker` groups by it");
}
