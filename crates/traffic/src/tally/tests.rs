//! Claims about tallies.

use std::borrow::Cow;

use super::heat_map::COLUMNS_MAX;
use super::table::{KEYS_MAX, OTHERS};
use super::{BINS, Dimension, ExchangeTally, bin_low_us};
use crate::owned::OwnedExchange;
use crate::view::{View, ViewBytes, ViewTimes};

fn exchange(path: &str, time_s: u64, total_us: u64) -> OwnedExchange {
    let view = View {
        url: Cow::Owned(path.as_bytes().to_vec()),
        times: ViewTimes {
            time_us: Some(time_s * 1_000_000),
            total_us: Some(total_us),
            ..ViewTimes::default()
        },
        status: Some(if total_us > 1_000_000 { 503 } else { 200 }),
        bytes: ViewBytes { bytes_out: Some(10), ..ViewBytes::default() },
        ..View::default()
    };
    OwnedExchange::new(&view, false)
}

#[test]
fn keys_beyond_the_bound_are_counted_as_others() {
    let mut tally = ExchangeTally::default();
    for number in 0..KEYS_MAX as u64 + 500 {
        tally.add(&exchange(&format!("/{number}?q"), 1, 1000));
        tally.add(&exchange("/0", 1, 2_000_000));
    }
    let rows = tally.table(Dimension::Path).rows();
    assert_eq!(rows.len(), KEYS_MAX + 1);
    assert_eq!((rows[0].0.as_str(), rows[0].1.count, rows[0].1.errors), ("/0", 1501, 1500));
    let (key, others) = &rows[KEYS_MAX];
    assert_eq!((key.as_str(), others.count, others.bytes_out), (OTHERS, 500, 5000));
    assert_eq!(rows.iter().map(|(_, row)| row.count).sum::<u64>(), tally.exchanges());
    assert_eq!(tally.table(Dimension::Host).rows()[0].0, "-");
    assert!((tally.all().quantile_ms(0.99).unwrap() / 2000.0 - 1.0).abs() < 0.01);
}

#[test]
fn what_has_no_route_is_counted_by_the_first_segment_of_its_path() {
    let mut tally = ExchangeTally::default();
    for path in ["/news/1?q=/", "/news/a/b", "/news/", "/news", "/", "", "*"] {
        tally.add(&exchange(path, 1, 1000));
    }
    let mut routes: Vec<_> = tally.table(Dimension::Route).rows();
    routes.sort_by(|one, other| one.0.cmp(&other.0));
    let routes: Vec<_> = routes.iter().map(|(key, row)| (key.as_str(), row.count)).collect();
    assert_eq!(routes, [("*", 1), ("-", 1), ("/", 1), ("/news", 1), ("/news/*", 3)]);
}

#[test]
fn the_heat_map_keeps_its_size_and_every_exchange() {
    let mut tally = ExchangeTally::default();
    for number in 0..100_000_u64 {
        tally.add(&exchange("/", 1_000_000 - number % 7 * 1000 + number, 1 << (number % 40)));
    }
    let all = tally.heat_map().columns(usize::MAX);
    assert!(all.columns.len() <= COLUMNS_MAX && all.columns.len() > COLUMNS_MAX / 3);
    assert_eq!(all.columns.iter().flatten().sum::<u64>(), 100_000);
    let few = tally.heat_map().columns(7);
    assert!(few.columns.len() <= 7 && few.columns.iter().flatten().sum::<u64>() == 100_000);
    assert_eq!(few.begin_us, all.begin_us);
    assert!(all.begin_us <= 994_000 * 1_000_000);
}

#[test]
fn a_date_far_off_widens_the_span() {
    let mut tally = ExchangeTally::default();
    for time in [1, u64::MAX / 1_000_000, 0] {
        tally.add(&exchange("/", time, 10));
    }
    let columns = tally.heat_map().columns(80).columns;
    let bins: Vec<usize> = (0..BINS).filter(|bin| columns[0][*bin] > 0).collect();
    assert_eq!((bins.as_slice(), bin_low_us(3).round()), (&[3][..], 10.0));
    assert_eq!(columns.iter().flatten().sum::<u64>(), 2);
}
