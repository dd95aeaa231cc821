//! Claims about the oracle itself: it must not pass what it should not.

use super::*;

fn line(id: u64, start: u64) -> Line {
    let text = format!("{{\"query\":\"item={id}&pad=1\",\"n\":\"{:04}\"}}\n", id).into_bytes();
    Line { at: start..start + text.len() as u64, text }
}

/// Four lines, of which the first is delivered, before and after `change`.
fn case(change: impl Fn(&mut Vec<Line>)) -> Expected {
    let mut lines: Vec<Line> = Vec::new();
    for id in 0..4 {
        lines.push(line(id, lines.last().map_or(0, |last| last.at.end)));
    }
    let durable = lines[3].at.end;
    let before = Ledger { segments: Vec::new(), lines: lines.clone(), durable };
    change(&mut lines);
    let after = Ledger { lines, ..before.clone() };
    let known = before.lines.iter().map(|line| (line.event().unwrap(), line.text.clone()));
    Case {
        before: &before,
        after: &after,
        place: before.lines[0].at.end,
        known: &known.collect(),
        delivered: &BTreeSet::from([0]),
        gone: &BTreeSet::new(),
        kind: Kind::Lines,
    }
    .expected()
}

fn loss(from: u64, bytes: u64) -> Loss {
    let what = format!("lines of `journal` from {from} to {} were lost unread", from + bytes);
    losses(&format!("id  time  journal to main on soak\n  {what}\n  {bytes} bytes are lost\n"))
        .unwrap()
        .remove(0)
}

#[test]
fn nothing_is_lost_of_an_untouched_journal_and_no_claim_passes() {
    let expected = case(|_| {});
    assert_eq!(expected.to_come, BTreeSet::from([1, 2, 3]));
    expected.check(&[], &[]).unwrap();
    expected.check(&[loss(0, 1)], &[]).unwrap_err();
    expected.check(&[], &[0]).unwrap_err();
}

#[test]
fn a_lost_line_must_be_named_to_the_byte() {
    let end = line(1, 0).at.end;
    let expected = case(|lines| drop(lines.remove(2)));
    assert_eq!(expected.to_come, BTreeSet::from([1, 3]));
    expected.check(&[loss(2 * end, end)], &[]).unwrap();
    expected.check(&[], &[]).unwrap_err();
    expected.check(&[loss(2 * end, end - 1)], &[]).unwrap_err();
    expected.check(&[loss(2 * end, end), loss(2 * end, 1)], &[]).unwrap_err();
}

#[test]
fn a_line_that_is_none_must_be_in_quarantine() {
    let end = line(1, 0).at.end;
    let expected = case(|lines| lines[2].text[10] ^= 1);
    assert_eq!(expected.to_come, BTreeSet::from([1, 3]));
    expected.check(&[], &[2 * end]).unwrap();
    expected.check(&[], &[]).unwrap_err();
    expected.check(&[], &[2 * end, 3 * end]).unwrap_err();
}
