//! Claims about what a package may cost.

use std::collections::BTreeMap;

use super::{Budget, FILE, Spent, parse};

fn spent(package: &str, compile: f64, test: f64) -> Spent {
    let mut spent = Spent::default();
    spent.compiled(BTreeMap::from([(package.to_owned(), compile)]));
    spent.tested(package, test / 2.0);
    spent.tested(package, test / 2.0);
    spent
}

#[test]
fn a_package_is_over_when_compile_or_tests_cost_more_than_its_line() {
    let budget = parse("# what it is\ncache 20 10\n").unwrap();
    for (compile, test, over) in [(20.0, 10.0, false), (20.1, 1.0, true), (1.0, 10.1, true)] {
        let (table, found) = spent("cache", compile, test).against(&budget);
        assert_eq!(!found.is_empty(), over, "{table}");
        assert_eq!(table.contains("OVER"), over, "{table}");
    }
}

#[test]
fn a_package_without_a_line_is_over_once_it_costs_more_than_a_second() {
    let budget = parse("").unwrap();
    assert!(spent("new", 0.9, 0.9).against(&budget).1.is_empty());
    assert_eq!(spent("new", 5.0, 0.0).against(&budget).1, ["new"]);
}

#[test]
fn a_line_that_says_something_else_is_refused() {
    for text in ["cache 20", "cache 20 ten", "cache 1 1\ncache 2 2"] {
        assert!(parse(text).unwrap_err().to_string().contains(FILE));
    }
}

#[test]
fn the_budget_of_this_checkout_can_be_read() {
    assert!(Budget::read().unwrap().test_seconds("tidegate") > 1.0);
}
