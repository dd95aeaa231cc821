//! Claims about marks: what they keep, and what contents are to them.

use super::*;

/// A content in memory.
struct Bytes(Vec<u8>);

impl WindowedContent for Bytes {
    fn window(&mut self, end: u64) -> io::Result<Option<Vec<u8>>> {
        let (end, start) = (end as usize, (end as usize).saturating_sub(WINDOW));
        Ok(self.0.get(start..end).map(<[u8]>::to_vec))
    }
}

/// Bytes that repeat nowhere.
fn content(length: usize) -> Vec<u8> {
    let mut random = stdx::Random::new(1);
    (0..length).map(|_| random.up_to(255) as u8).collect()
}

/// The mark of all of it, read in steps.
fn read(content: &[u8], step: usize) -> Mark {
    let (mut mark, mut at) = (Mark::default(), 0);
    while at < content.len() {
        let to = content.len().min(at + step);
        mark.advance(&content[at - mark.back()..to]);
        at = to;
    }
    mark
}

#[test]
fn points_lie_at_the_beginning_and_ever_denser_towards_the_place_read_last() {
    const STEP: usize = 100_000;
    let bytes = vec![b'x'; WINDOW + STEP];
    let mut mark = Mark::default();
    mark.advance(&bytes[..WINDOW]);
    for _ in 0..3_000 {
        mark.advance(&bytes);
    }
    let places: Vec<u64> = mark.points.iter().map(|point| point.0).collect();
    assert_eq!(places[..5], HEADS);
    assert!(places.len() < 60 && mark.to_text(true).len() < 1_500, "{places:?}");
    let to_end = |place: u64| mark.offset - place;
    assert!(to_end(*places.last().unwrap()) <= TRAIL_STEP + STEP as u64);
    // A gap is at most half as long as it is away, and a point is a step or two aside.
    let slack = TRAIL_STEP + 2 * STEP as u64;
    for pair in places[5..].windows(2) {
        assert!(pair[1] - pair[0] <= to_end(pair[1]) / 2 + slack, "{pair:?} of {}", mark.offset);
        assert!(pair[1] - pair[0] >= TRAIL_STEP);
    }
}

#[test]
fn it_does_not_matter_in_how_many_pieces_a_beginning_was_read() {
    let all = content(3_000);
    for end in [1, 63, 64, 65, 128, 300, 1_023, 1_024, 1_025, 3_000] {
        let whole = read(&all[..end], end);
        let measured = Mark::measure(&mut Bytes(all.clone()), end as u64).unwrap().unwrap();
        assert_eq!(measured, whole, "{end}");
        for step in [1, 7, 64, 100] {
            assert_eq!(read(&all[..end], step), whole, "{end} by {step}");
        }
        assert!(Mark::keys_of(&all[..end.min(WINDOW)]).any(|key| key == whole.key()), "{end}");
        assert_eq!(whole.short_key().is_some(), end >= 64);
        assert_eq!(Mark::short_key_of(&all[..end]), whole.short_key());
    }
    assert_eq!(Mark::measure(&mut Bytes(all), 3_001).unwrap(), None);
}

#[test]
fn a_content_is_the_log_its_beginning_another_way_of_it_or_another_log() {
    let all = content(400_000);
    let mark = read(&all, 70_000);
    let relation = |content: &[u8]| mark.relation(&mut Bytes(content.to_vec())).unwrap();
    let changed = |at: usize| {
        let mut changed = all.clone();
        changed[at] ^= 1;
        changed
    };
    assert_eq!(relation(&all), Relation::Same);
    assert_eq!(relation(&[&all[..], b"more"].concat()), Relation::Same);
    for end in [64, 100, 1_024, 350_000, 399_999] {
        assert_eq!(relation(&all[..end]), Relation::Beginning, "{end}");
    }
    for end in [0, 1, 63] {
        assert_eq!(relation(&all[..end]), Relation::Different, "{end}");
    }
    for at in [0, 63, 64, 1_023] {
        assert_eq!(relation(&changed(at)), Relation::Different, "{at}");
    }
    assert!(matches!(relation(&changed(399_999)), Relation::Diverged(from) if from >= 280_000));
    let short = read(&all[..40], 40);
    assert_eq!(short.relation(&mut Bytes(all[..39].to_vec())).unwrap(), Relation::Different);
    assert_eq!(short.relation(&mut Bytes(all[..41].to_vec())).unwrap(), Relation::Same);
}

#[test]
fn what_is_written_down_is_read_back_and_nothing_else_is_a_mark() {
    let mark = read(&content(400_000), 70_000);
    assert_eq!(Mark::from_text(&mark.to_text(true)), Some(mark.clone()));
    let brief = Mark::from_text(&mark.to_text(false)).unwrap();
    assert_eq!((brief.offset, brief.key()), (mark.offset, mark.key()));
    assert_eq!((brief.points.len(), brief.short_key()), (2, mark.short_key()));
    for (text, is_one) in [
        ("100/7/40.1/80.2", true),
        ("100/7/40.1/100.2", true),
        ("100/7", true),
        ("100/7/40.1/40.2", false),
        ("100/7/80.1/40.2", false),
        ("100/7/40.1/101.2", false),
        ("100", false),
        ("x/7", false),
        ("100/7/40", false),
        ("100/7/40.100000000", false),
    ] {
        assert_eq!(Mark::from_text(text).is_some(), is_one, "{text}");
    }
}
