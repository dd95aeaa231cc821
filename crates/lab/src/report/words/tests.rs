//! Claims about verdicts in words.

use verdicts::{CombEvidence, LatencyMode, StepShare, Tooth, Unclear};

use super::*;

fn comb() -> Quantised {
    Quantised {
        spacing: "linear".into(),
        quantum_ms: 500.234,
        ci_ms: [499.6, 500.9],
        offset_ms: 1.1,
        teeth: vec![Tooth { k: 1, calls: 412 }, Tooth { k: 2, calls: 96 }],
        share: 0.18,
        excess_share: 0.71,
        evidence: CombEvidence {
            p: 0.001,
            p_least: Some(0.001),
            p_confirmed: Some(3e-9),
            ..CombEvidence::default()
        },
        within: "all".into(),
        phase_locked: Some(false),
        nearest: Some("nginx cache lock".into()),
        ..Quantised::default()
    }
}

#[test]
fn a_comb_is_said_with_quantum_teeth_and_hint() {
    let words = in_words(&Verdict::Quantised(comb()));
    assert_eq!(words.title, "quantised");
    let whole = format!("{} {}", words.sentence, words.figures.join(" "));
    for text in [
        "multiples of 500.2 ms",
        "18 % of the calls",
        "71 % of the time",
        "499.6 to 500.9 ms",
        "412 at 501 ms, 96 at 1.00 s",
        "at most p = 0.0010, the least that draws can show here: 1 in 1000",
        "p = 3e-9",
        "the order of rows says nothing",
        "the timer starts with the call",
        "(a hint): nginx cache lock",
        "judged at 0.50 % of false alarms, by 1,999 draws at most known timers",
    ] {
        assert!(whole.contains(text), "no `{text}` in {whole}");
    }
}

#[test]
fn a_threshold_is_as_short_as_its_digits_matter() {
    let of = |value: &str| {
        named(&AttributeVerdict {
            attribute: "late_ms".into(),
            value: value.into(),
            ..AttributeVerdict::default()
        })
    };
    assert_eq!(of("<= 6.521942"), "late_ms <= 6.52");
    assert_eq!(
        (of("> 40960"), of("> 0.000382")),
        ("late_ms > 40960".into(), "late_ms > 0.000382".into())
    );
    assert_eq!(of("6.521942"), "late_ms = 6.521942");
}

#[test]
fn one_hump_against_a_test_says_why() {
    let figures = |p: f64| {
        let hump = Modality { p, p_dip: 0.5, ..Modality::default() };
        in_words(&Verdict::Unimodal(hump)).figures.join("; ")
    };
    assert!(figures(4e-4).contains("too few calls for a hump of their own"), "{}", figures(4e-4));
    assert!(!figures(0.02).contains("too few"));
}

#[test]
fn every_verdict_is_a_sentence() {
    let mode = LatencyMode { at_ms: 5.0, ci_ms: [4.9, 5.1], share: 0.8, width_ms: 1.0 };
    let humps = Modality {
        modes: vec![mode.clone(), LatencyMode { at_ms: 45.0, ..mode }],
        ..Modality::default()
    };
    let share = StepShare {
        step: "wait".into(),
        excess_ms: 90.0,
        ci_ms: [80.0, 100.0],
        median_ms: 4.0,
        slowed: 0.02,
    };
    let step = StepVerdict {
        step: "wait".into(),
        ratio: 12.3,
        ci: [9.0, 15.0],
        p: 1e-9,
        shares: vec![share],
    };
    let found =
        AttributeVerdict { attribute: "server".into(), value: "b".into(), ..Default::default() };
    let excess =
        ExcessVerdict { step: "wait".into(), part: 0.97, whole_ms: 9.0, ..Default::default() };
    for (verdict, part) in [
        (Verdict::Quantised(comb()), "wait for a timer"),
        (Verdict::Multimodal(humps.clone()), "2 humps, at 5.00 ms (80 %) and 45.0 ms (80 %)"),
        (Verdict::Unimodal(humps), "One hump, at 5.00 ms"),
        (Verdict::Locked(PhaseLock { period_ms: 100.0, ..PhaseLock::default() }), "tick of 100 ms"),
        (Verdict::Step(step), "`wait` is slow by itself: it has 100 % of the slow-downs and 100 %"),
        (Verdict::Outside(Outside::default()), "outside the request"),
        (Verdict::Excess(excess), "`wait` has 97 % of the 9.00 ms that slow calls take longer"),
        (Verdict::Attribute(found), "have server = b"),
        (Verdict::Change(verdicts::ChangeVerdict::default()), "Nothing is certain to change"),
        (Verdict::Unclear(Unclear { reason: "3 calls".into() }), "3 calls."),
    ] {
        let words = in_words(&verdict);
        assert!(words.sentence.contains(part), "no `{part}` in {}", words.sentence);
        assert!(words.sentence.ends_with('.'), "{}", words.sentence);
    }
}
