//! Views, their keys, their page and what they select belong together.

use crate::PgView;
use crate::catalog::{self, Shown};

/// The columns of a row that something shown is made of.
fn columns(shown: Shown) -> Vec<&'static str> {
    match shown {
        Shown::Label(column)
        | Shown::Gauge(column, _)
        | Shown::Growth(column, _)
        | Shown::Rate(column, _)
        | Shown::ShareOfAll(column) => vec![column],
        Shown::Each { counter: one, by: other, .. }
        | Shown::ShareOfBoth(one, other)
        | Shown::ShareOfGrowth { part: one, whole: other }
        | Shown::Percent { part: one, whole: other } => vec![one, other],
    }
}

#[test]
fn every_view_has_a_key_and_a_row_in_its_page() {
    let page = include_str!("../../../../docs/operating/pgtop.md");
    assert_eq!(PgView::KEYS.chars().count(), PgView::ALL.len());
    for (view, key) in PgView::ALL.into_iter().zip(PgView::KEYS.chars()) {
        let is_row = |line: &str| {
            line.starts_with(&format!("| `{key}`"))
                && line.contains(&format!(" | {} | ", view.name()))
        };
        assert!(page.lines().any(is_row), "{key} {}", view.name());
    }
    for catalog in catalog::ALL {
        assert!(PgView::named(catalog.name).is_some(), "{}", catalog.name);
    }
}

#[test]
fn what_a_view_of_a_catalog_shows_is_selected_in_every_version() {
    for view in catalog::ALL {
        assert!(view.columns.iter().any(|(title, _)| *title == view.sort), "{}", view.name);
        let shown = view.columns.iter().flat_map(|(_, shown)| columns(*shown));
        let wanted: Vec<&str> = shown.chain(view.keys.iter().copied()).collect();
        for version in 13..=18 {
            let statement = (view.statement)(version * 10_000);
            for column in &wanted {
                let is_there = [format!("AS {column}"), format!("AS \"{column}\"")]
                    .iter()
                    .any(|text| statement.contains(text));
                // Texts of statements are read apart.
                let is_apart = view.needs_extension && *column == "query";
                assert!(is_there || is_apart, "{} {version}: {column}", view.name);
            }
        }
    }
}
