//! Claims about options, what is drawn, and what counts as killed.

use super::{Options, Outcomes, escaped, is_equal, judge, outcomes, parse, sample};

#[test]
fn options_come_in_any_order() {
    let options = parse(&["--seed", "7", "journal", "--sample", "200"]).unwrap();
    let expected = Options { package: "journal", sample: Some(200), seed: 7, file: None };
    assert_eq!(options, expected);
    for wrong in [&["--sample", "200"][..], &["journal", "--sample"], &["journal", "statsd"]] {
        assert!(parse(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn the_same_seed_draws_the_same_mutants_and_another_draws_others() {
    let all: Vec<String> = (0..100).map(|number| format!("mutant {number}")).collect();
    let draw = |seed| sample(&all, &Options { sample: Some(10), seed, ..Options::default() });
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    assert_eq!(sample(&all, &Options::default()).len(), 100);
}

#[test]
fn a_name_becomes_an_expression_that_matches_only_it() {
    let name = "src/a.rs:3:9: replace a::b -> Option<u8> with Some(1)";
    let expected = r"src/a\.rs:3:9: replace a::b \-> Option<u8> with Some\(1\)";
    assert_eq!(escaped(name), expected);
}

#[test]
fn an_equal_mutant_is_named_by_its_file_and_its_change() {
    let equal = "# why\nsrc/a.rs: replace > with >= in cut  both lead to the end\n";
    assert!(is_equal("src/a.rs:3:9: replace > with >= in cut", equal));
    assert!(!is_equal("src/a.rs:3:9: replace > with == in cut", equal));
    assert!(!is_equal("src/b.rs:3:9: replace > with >= in cut", equal));
}

#[test]
fn timeouts_count_as_killed_and_what_does_not_compile_counts_as_nothing() {
    let dir = tempfile_dir();
    for (name, lines) in [("caught", 91), ("timeout", 1), ("missed", 8), ("unviable", 50)] {
        std::fs::write(dir.join(format!("{name}.txt")), "m\n".repeat(lines)).unwrap();
    }
    let read = outcomes(&dir).unwrap();
    assert_eq!((read.killed, read.survived.len(), read.unviable), (92, 8, 50));
    judge(&read).unwrap();
    judge(&Outcomes { killed: 91, survived: vec!["m".to_owned(); 9], unviable: 0 }).unwrap_err();
    judge(&Outcomes::default()).unwrap_err();
    std::fs::remove_dir_all(dir).unwrap();
}

fn tempfile_dir() -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("tidegate-mutants-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}
