//! Claims about places, names and draws.

use super::{Mutant, draw, is_equal};

fn mutant(name: &str) -> Mutant {
    let json = serde_json::json!({
        "name": name,
        "file": "src/a.rs",
        "genre": "BinaryOperator",
        "replacement": ">=",
        "span": {"start": {"line": 2, "column": 6}, "end": {"line": 2, "column": 7}},
    });
    serde_json::from_value(json).unwrap()
}

#[test]
fn the_same_seed_draws_the_same_mutants_and_another_draws_others() {
    let all: Vec<Mutant> = (0..100).map(|number| mutant(&format!("mutant {number}"))).collect();
    let drawn = |seed| {
        let mut mutants = all.clone();
        draw(&mut mutants, 10, seed);
        mutants.into_iter().map(|mutant| mutant.name).collect::<Vec<_>>()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_eq!(drawn(1).len(), 10);
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn columns_count_characters_and_a_place_outside_is_none() {
    assert_eq!(mutant("m").applied("x\n'ü' a>b\n").unwrap(), "x\n'ü' a>=b\n");
    assert_eq!(mutant("m").applied("x\n"), None);
}

#[test]
fn a_mutant_is_known_again_after_lines_were_put_in() {
    let mutant = mutant("src/a.rs:3:9: replace > with >= in cut");
    assert!(mutant.is_called("src/a.rs:7:5: replace > with >= in cut"));
    assert!(!mutant.is_called("src/a.rs:3:9: replace > with == in cut"));
    assert!(!mutant.is_called("src/b.rs:3:9: replace > with >= in cut"));
}

#[test]
fn an_equal_mutant_is_named_by_its_file_and_its_change() {
    let equal = "# why\nsrc/a.rs: replace > with >= in cut  both lead to the end\n";
    assert!(is_equal("src/a.rs:3:9: replace > with >= in cut", equal));
    assert!(!is_equal("src/a.rs:3:9: replace > with == in cut", equal));
    assert!(!is_equal("src/b.rs:3:9: replace > with >= in cut", equal));
}
