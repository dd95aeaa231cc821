//! Claims about options, and what counts as killed.

use super::{Options, judge, parse};
use crate::trial::Fate;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn options_come_in_any_order() {
    let options = parse(&words("--seed 7 journal --again --sample 200")).unwrap();
    let package = "journal".to_owned();
    let expected = Options { package, sample: Some(200), seed: 7, file: None, again: true };
    assert_eq!(options, expected);
    for wrong in ["--sample 200", "journal --sample", "journal statsd"] {
        assert!(parse(&words(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn what_never_ends_is_killed_and_what_does_not_compile_counts_as_nothing() {
    let fates = |killed, survived, endless, unviable| {
        let by = "a_test".to_owned();
        let fates = [
            (killed, Fate::Killed { by }),
            (survived, Fate::Survived { reached: true }),
            (endless, Fate::Endless),
            (unviable, Fate::Unviable),
        ];
        let each = fates.into_iter().flat_map(|(count, fate)| vec![fate; count]);
        each.map(|fate| ("a mutant".to_owned(), fate)).collect::<Vec<_>>()
    };
    judge(&fates(91, 8, 1, 50)).unwrap();
    judge(&fates(91, 8, 0, 50)).unwrap_err();
    judge(&fates(0, 0, 0, 50)).unwrap_err();
    judge(&[]).unwrap_err();
}
