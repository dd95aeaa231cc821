//! Sums worked out by hand.

use super::*;

const MODEL: &str = r#"{"format":"tidegate-linear-1","name":"m","version":"1","intercept":-1.0,
  "features":[{"name":"item.a","weight":2.0,"mean":1.0,"scale":4.0},
              {"name":"user.b","weight":-1.0,"missing":3.0}],
  "crosses":[{"left":"item.a","right":"context.c","weight":0.5,"mean":2.0,"scale":0.25}]}"#;

fn rows(link: &str) -> LinearRows {
    let text = MODEL.replacen('{', &format!(r#"{{"link":"{link}","#), 1);
    LinearRows::new(&Linear::parse(text.as_bytes()).unwrap())
}

#[test]
fn a_row_is_scored_as_the_model_says() {
    let model = rows("identity");
    assert_eq!(model.names(), ["item.a", "user.b", "context.c"]);
    // -1 + 2 (3-1)/4 - 5 + 0.5 (3*2-2)/0.25; then all absent: a takes its mean, c takes 0.
    let mut given = [3.0, 5.0, 2.0, f64::NAN, f64::NAN, f64::NAN];
    let mut out = [0.0; 2];
    model.score(&mut given, &mut out).unwrap();
    assert_eq!(out, [-1.0 + 1.0 - 5.0 + 8.0, -1.0 + 0.0 - 3.0 - 4.0]);
}

#[test]
fn a_logistic_link_gives_probabilities() {
    let mut out = [0.0];
    rows("logistic").score(&mut [3.0, 5.0, 2.0], &mut out).unwrap();
    assert!((out[0] - 1.0 / (1.0 + (-3.0_f64).exp())).abs() < 1e-15);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let error = rows("identity").score(&mut [1.0; 4], &mut [0.0; 2]).unwrap_err();
    assert_eq!(error.to_string(), "score rows: 4 numbers are no 2 rows of 3");
}
