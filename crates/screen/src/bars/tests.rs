//! Claims about paired bars.

use super::*;

fn bars() -> PairedBars<'static> {
    let row = |name: &str, left: f64, right: f64| {
        let left = Bar { value: left, text: format!("{left:.0} %") };
        (
            name.to_owned(),
            [left, Bar { value: right, text: format!("{right:.0} ms") }],
            left_is(name),
        )
    };
    PairedBars {
        titles: ["probability of a slow-down", "median time"],
        rows: vec![row("resolve", 1.0, 5.0), row("store", 4.0, 0.0), row("respond", 0.0, 20.0)],
        is_shared: false,
    }
}

fn left_is(name: &str) -> bool {
    name == "store"
}

#[test]
fn the_longest_bar_of_each_side_fills_it() {
    let text = bars().render(&Style { width: 60, colour: false, ascii: true });
    let lines: Vec<_> = text.lines().collect();
    let (store, respond) = (lines[2].matches('#').count(), lines[3].matches('=').count());
    assert_eq!(store, respond, "{text}");
    assert_eq!(lines[1].matches('#').count(), store.div_ceil(4), "{text}");
    assert_eq!((lines[3].matches('#').count(), lines[2].matches('=').count()), (0, 0), "{text}");
    assert!(lines[2].contains("4 %"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in 20..120 {
        for ascii in [false, true] {
            let text = bars().render(&Style { width, colour: false, ascii });
            assert!(text.lines().all(|line| width_of(line) <= width), "{width}\n{text}");
        }
    }
}

#[test]
fn what_is_no_number_has_no_bar() {
    let mut odd = bars();
    odd.rows[0].1[0].value = f64::NAN;
    odd.rows[1].1[0].value = -4.0;
    let text = odd.render(&Style { width: 60, colour: false, ascii: true });
    assert!(!text.contains('#'), "{text}");
}

#[test]
fn no_width_is_too_narrow() {
    let mut bars = bars();
    for (name, pair, _) in &mut bars.rows {
        *name = "a name of twenty lets".to_owned();
        pair.iter_mut().for_each(|bar| bar.text = "a text of some twenty ".to_owned());
    }
    for width in 1..120 {
        assert!(bars.render(&Style { width, colour: false, ascii: true }).contains('a'), "{width}");
    }
}
