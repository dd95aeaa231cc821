//! Readers of a journal that was damaged, cut, removed or replaced: no line is read twice, and none
//! is lost in silence.

use std::collections::BTreeSet;
use std::fs;

use stdx::RealDisk;
use tempfile::tempdir;

use super::*;
use crate::{Change, Displaced};

pub(super) fn disk() -> Arc<dyn Disk> {
    Arc::new(RealDisk)
}

/// Writes ten lines that begin with `name`, in a session of their own.
pub(super) fn write(dir: &Path, name: &str) {
    let mut options = Options::new(dir);
    options.sync = Sync::Always;
    let journal = Journal::open(options, disk()).unwrap();
    let lane = journal.lane();
    for n in 0..10 {
        let line = format!("{name}{n} {}", "x".repeat(n * 30));
        lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait().unwrap();
    }
}

/// Reads on from a place to the end: what came, by its first word, the place, what was said.
pub(super) fn read(dir: &Path, from: Option<Place>) -> (Vec<String>, Place, Option<Displaced>) {
    let reader = Reader::open(dir, disk()).unwrap();
    let (mut reader, displaced) = match from {
        Some(place) => reader.resume(place).unwrap(),
        None => (reader, None),
    };
    let mut found = Vec::new();
    drain(&mut reader, &mut found);
    let words = found.iter().map(|line| line.split(' ').next().unwrap_or("").to_owned());
    (words.collect(), reader.place(), displaced)
}

fn names(name: &str) -> BTreeSet<String> {
    (0..10).map(|n| format!("{name}{n}")).collect()
}

pub(super) fn segments(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let mut segments: Vec<_> =
        files.filter(|file| file.to_string_lossy().contains(".log")).collect();
    segments.sort();
    segments
}

fn overwrite(file: &Path, byte: impl Fn(usize) -> u8) {
    let length = fs::metadata(file).unwrap().len() as usize;
    fs::write(file, (0..length).map(byte).collect::<Vec<_>>()).unwrap();
}

pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match file.file_type().unwrap().is_dir() {
            true => copy(&file.path(), &to.join(file.file_name())),
            false => drop(fs::copy(file.path(), to.join(file.file_name())).unwrap()),
        }
    }
}

/// Reads the lines `a`, damages the journal with the unread lines `b`, and has it go on with `c`.
fn after(damage: impl Fn(&Path, &Path)) -> (Vec<String>, Option<Displaced>) {
    let home = tempdir().unwrap();
    let (dir, older) = (home.path().join("journal"), home.path().join("older"));
    write(&dir, "old");
    copy(&dir, &older);
    write(&dir, "a");
    let (read_before, place, _) = read(&dir, None);
    assert!(read_before.iter().any(|word| word == "a9"));
    write(&dir, "b");
    damage(&dir, &older);
    write(&dir, "c");
    let (found, place, displaced) = read(&dir, Some(place.to_string().parse().unwrap()));
    for name in ["old", "a"] {
        assert!(names(name).is_disjoint(&found.iter().cloned().collect()), "{found:?}");
    }
    let count = |word: &String| found.iter().filter(|found| *found == word).count();
    assert!(names("c").iter().all(|word| count(word) == 1), "{found:?}");
    assert!(names("b").iter().all(|word| count(word) <= 1), "{found:?}");
    let has_lost = names("b").iter().any(|word| count(word) == 0);
    // What is no line of these goes to quarantine.
    let is_line = |word: &String| word.len() == 2 && "abcdef".contains(&word[..1]);
    let has_said = displaced.is_some() || !found.iter().all(is_line);
    assert!(!has_lost || has_said, "lost in silence: {found:?}");
    assert_eq!(read(&dir, Some(place)).0, [""; 0], "what was read does not come again");
    (found, displaced)
}

#[test]
fn an_untouched_journal_goes_on_where_it_was_read_to() {
    let (found, displaced) = after(|_, _| {});
    assert_eq!(displaced, None);
    assert_eq!(found.len(), 20);
}

#[test]
fn noise_or_zeros_over_a_segment_cost_what_they_cover() {
    for nth in 0..3 {
        // All byte values, line feeds among them; then none.
        after(|dir, _| overwrite(&segments(dir)[nth], |at| (at * 7 + at / 251) as u8));
        after(|dir, _| overwrite(&segments(dir)[nth], |_| 0));
    }
}

#[test]
fn a_segment_that_is_cut_or_gone_costs_what_it_held() {
    for nth in 0..3 {
        for length in [0, 1, 700] {
            after(|dir, _| {
                let file = fs::File::options().write(true).open(&segments(dir)[nth]).unwrap();
                file.set_len(length).unwrap();
            });
        }
        after(|dir, _| fs::remove_file(&segments(dir)[nth]).unwrap());
    }
}

#[test]
fn a_removed_journal_is_read_from_its_new_beginning() {
    let (found, displaced) = after(|dir, _| fs::remove_dir_all(dir).unwrap());
    assert_eq!(found.len(), 10);
    let displaced = displaced.unwrap();
    assert_eq!((displaced.goes_on, displaced.change), (0, Change::Replaced));
}

#[test]
fn an_older_copy_is_read_from_what_was_written_after_it_came_back() {
    let (found, displaced) = after(|dir, older| {
        fs::remove_dir_all(dir).unwrap();
        copy(older, dir);
    });
    assert_eq!(found.len(), 10);
    assert_eq!(displaced.unwrap().change, Change::Replaced);
    // It has grown past the place by then, and has a line that ends there, perhaps.
    let (found, displaced) = after(|dir, older| {
        fs::remove_dir_all(dir).unwrap();
        copy(older, dir);
        ["d", "e", "f"].iter().for_each(|name| write(dir, name));
    });
    assert_eq!(found.len(), 40, "{found:?}");
    assert_eq!(displaced.unwrap().change, Change::Replaced);
}

#[test]
fn sessions_that_are_lost_or_damaged_cost_nothing_while_the_lines_are_there() {
    for text in [None, Some(""), Some("\0\0\0"), Some("garbage\n")] {
        let (found, displaced) = after(|dir, _| match text {
            None => fs::remove_file(dir.join("sessions")).unwrap(),
            Some(text) => fs::write(dir.join("sessions"), text).unwrap(),
        });
        assert_eq!((found.len(), displaced), (20, None), "{text:?}");
    }
}

#[test]
fn a_damaged_compressed_segment_at_the_end_does_not_keep_the_journal_from_opening() {
    let home = tempdir().unwrap();
    let dir = home.path().join("journal");
    write(&dir, "a");
    let (_, place, _) = read(&dir, None);
    let plain = segments(&dir).pop().unwrap();
    let packed = zstd::encode_all(&*fs::read(&plain).unwrap(), 3).unwrap();
    fs::write(plain.with_extension("log.zst"), &packed[..packed.len() / 2]).unwrap();
    fs::remove_file(&plain).unwrap();
    write(&dir, "b");
    let (found, _, displaced) = read(&dir, Some(place));
    assert!(names("b").iter().all(|word| found.contains(word)), "{found:?}");
    assert!(!found.contains(&"a0".to_owned()) && displaced.is_some(), "{found:?}");
}

/// Opens and closes a journal, without a line.
fn open_idly(dir: &Path) {
    drop(Journal::open(Options::new(dir), disk()).unwrap());
}

/// What a reader gives, by first words; and its offset then.
pub(super) fn found_by(reader: &mut Reader) -> (Vec<String>, u64) {
    let mut found = Vec::new();
    drain(reader, &mut found);
    let word = |line: &String| match line.starts_with(char::is_uppercase) {
        true => line.clone(),
        false => line.split(' ').next().unwrap_or_default().to_owned(),
    };
    (found.iter().map(word).collect(), reader.offset())
}

/// A journal with the lines `old`, `a` and `b`, read to the end of `a`: its directory, the place,
/// and the end of `b`.
pub(super) fn read_to_a(home: &Path) -> (PathBuf, Place, u64) {
    let dir = home.join("journal");
    write(&dir, "old");
    write(&dir, "a");
    let (_, place, _) = read(&dir, None);
    write(&dir, "b");
    let (_, end, _) = read(&dir, None);
    (dir, place, end.offset)
}

pub(super) fn lines_of(name: &str) -> Vec<String> {
    (0..10).map(|n| format!("{name}{n}")).collect()
}

#[test]
fn a_running_reader_goes_on_in_a_segment_that_was_removed_and_made_again() {
    let home = tempdir().unwrap();
    let (dir, _, end) = read_to_a(home.path());
    // What a kill leaves between making a segment and its first line.
    fs::write(dir.join(format!("{end:020}.log")), "").unwrap();
    let mut reader = Reader::open(&dir, disk()).unwrap();
    assert_eq!(found_by(&mut reader).0.len(), 30);
    write(&dir, "c");
    write(&dir, "d");
    assert_eq!(found_by(&mut reader).0, [lines_of("c"), lines_of("d")].concat());
}

#[test]
fn a_running_reader_notices_that_the_journal_was_replaced() {
    for is_copy in [false, true] {
        let home = tempdir().unwrap();
        let older = home.path().join("older");
        let dir = home.path().join("journal");
        write(&dir, "old");
        copy(&dir, &older);
        write(&dir, "a");
        let mut reader = Reader::open(&dir, disk()).unwrap();
        assert_eq!(found_by(&mut reader).0.len(), 20);
        fs::remove_dir_all(&dir).unwrap();
        if is_copy {
            copy(&older, &dir);
        }
        write(&dir, "c");
        let (found, _) = found_by(&mut reader);
        assert!(found[0].starts_with("Displaced"), "{found:?}");
        assert_eq!(found[1..], lines_of("c"));
    }
}

#[test]
fn an_older_copy_is_not_read_again_before_somebody_writes_to_it() {
    let home = tempdir().unwrap();
    let (dir, older) = (home.path().join("journal"), home.path().join("older"));
    write(&dir, "old");
    write(&dir, "a");
    copy(&dir, &older);
    write(&dir, "b");
    let (_, place, _) = read(&dir, None);
    fs::remove_dir_all(&dir).unwrap();
    copy(&older, &dir);
    let (mut reader, displaced) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
    assert_eq!(displaced.unwrap().change, Change::Replaced);
    assert_eq!(found_by(&mut reader).0, [""; 0]);
    write(&dir, "c");
    assert_eq!(found_by(&mut reader).0, lines_of("c"));
}

#[test]
fn what_is_lost_with_the_end_is_known_to_the_byte_however_often_the_journal_is_opened_meanwhile() {
    for openings in 0..3 {
        // The lines that were read are gone, too.
        for gone in 1..3 {
            let home = tempdir().unwrap();
            let (dir, place, end) = read_to_a(home.path());
            segments(&dir).iter().rev().take(gone).for_each(|file| fs::remove_file(file).unwrap());
            (0..openings).for_each(|_| open_idly(&dir));
            write(&dir, "c");
            let reader = Reader::open(&dir, disk()).unwrap();
            let (mut reader, displaced) = reader.resume(place).unwrap();
            let (found, _) = found_by(&mut reader);
            if gone == 1 {
                assert_eq!(displaced, None);
                assert_eq!(found[0], format!("LOST {} {end}", place.offset));
                assert_eq!(found[1..], lines_of("c"));
            } else {
                let displaced = displaced.unwrap();
                assert_eq!((displaced.change, displaced.lost_to), (Change::Shorter, Some(end)));
                assert_eq!(found, lines_of("c"));
            }
        }
    }
}

/// Cuts the newest segment behind half of its lines; returns where it ends then.
fn cut_in_half(dir: &Path) -> u64 {
    let last = segments(dir).pop().unwrap();
    let lines = fs::read_to_string(&last).unwrap();
    let half: String = lines.split_inclusive('\n').take(5).collect();
    fs::write(&last, &half).unwrap();
    let start: u64 = last.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    start + half.len() as u64
}

#[test]
fn a_lost_end_is_named_before_the_next_line_comes_and_once() {
    for is_reader_first in [false, true] {
        let home = tempdir().unwrap();
        let (dir, place, end) = read_to_a(home.path());
        let cut = cut_in_half(&dir);
        let mut reader = Reader::open(&dir, disk()).unwrap();
        let mut expected = lines_of("b")[..5].to_vec();
        if is_reader_first {
            reader = reader.resume(place).unwrap().0;
            assert_eq!(found_by(&mut reader), (expected.clone(), cut));
            assert_eq!(reader.missing_to(), Some(end), "it does not pass for caught up");
            expected.clear();
        }
        open_idly(&dir);
        if !is_reader_first {
            reader = reader.resume(place).unwrap().0;
        }
        expected.push(format!("LOST {cut} {end}"));
        assert_eq!(found_by(&mut reader), (expected, cut));
        assert_eq!(reader.missing_to(), None);
        let known = reader.place().to_string().parse().unwrap();
        open_idly(&dir);
        assert_eq!(read(&dir, Some(known)), (Vec::new(), known, None));
        write(&dir, "c");
        assert_eq!(read(&dir, Some(known)).0, lines_of("c"));
        assert_eq!(found_by(&mut reader).0, lines_of("c"));
    }
}

#[test]
fn nothing_is_missing_where_a_journal_is_whole_or_was_removed_for_a_new_one() {
    let home = tempdir().unwrap();
    let (dir, place, _) = read_to_a(home.path());
    let (mut reader, _) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
    assert_eq!((found_by(&mut reader).0, reader.missing_to()), (lines_of("b"), None));
    fs::remove_dir_all(&dir).unwrap();
    open_idly(&dir);
    let (found, _) = found_by(&mut reader);
    assert!(found.len() == 1 && found[0].starts_with("Displaced"), "{found:?}");
    assert_eq!(reader.missing_to(), None);
}

#[test]
fn a_reader_that_comes_before_the_writer_names_what_is_lost_with_the_end_once() {
    let home = tempdir().unwrap();
    let (dir, place, end) = read_to_a(home.path());
    segments(&dir)[1..].iter().for_each(|file| fs::remove_file(file).unwrap());
    let (mut reader, displaced) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
    let displaced = displaced.unwrap();
    assert_eq!((displaced.change, displaced.lost_to), (Change::Shorter, Some(end)));
    assert_eq!(found_by(&mut reader).0, [""; 0]);
    write(&dir, "c");
    assert_eq!(found_by(&mut reader).0, lines_of("c"));
}

#[test]
fn a_lost_end_is_named_also_where_the_line_is_damaged_that_was_read_last() {
    let home = tempdir().unwrap();
    let (dir, place, end) = read_to_a(home.path());
    let files = segments(&dir);
    let mut lines = fs::read(&files[1]).unwrap();
    if files[1].extension().is_some_and(|end| end == "zst") {
        lines = zstd::decode_all(&*lines).unwrap();
        fs::remove_file(&files[1]).unwrap();
    }
    let length = lines.len();
    lines[length - 9..length - 1].fill(0);
    fs::write(dir.join(format!("{:020}.log", place.offset - length as u64)), lines).unwrap();
    fs::remove_file(&files[2]).unwrap();
    write(&dir, "c");
    let (mut reader, displaced) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
    let displaced = displaced.unwrap();
    assert_eq!((displaced.change, displaced.lost_to), (Change::Damaged, Some(place.offset)));
    let (found, _) = found_by(&mut reader);
    assert_eq!(found[0], format!("LOST {} {end}", place.offset));
    assert_eq!(found[1..], lines_of("c"));
}

#[test]
fn of_a_compressed_segment_with_a_flipped_bit_nothing_is_handed_out() {
    let home = tempdir().unwrap();
    let dir = home.path().join("journal");
    fs::create_dir_all(&dir).unwrap();
    let mut random = stdx::Random::new(1);
    // Several blocks, of which zstd hands out the first before it sees the rest.
    let line = |n: usize| format!("line{n} {:016x}{:016x}\n", random.bits(), random.bits());
    let text: String = (0..12_000).map(line).collect();
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let mut with_checksum = zstd::Encoder::new(Vec::new(), 3).unwrap();
    with_checksum.include_checksum(true).unwrap();
    std::io::Write::write_all(&mut with_checksum, text.as_bytes()).unwrap();
    let good = with_checksum.finish().unwrap();
    assert!(good.len() > packed.len() && text.len() > 3 * (128 << 10));
    let next = dir.join(format!("{:020}.log", text.len()));
    fs::write(next, "after 1\n").unwrap();
    for at in (good.len() / 40..good.len()).step_by(good.len() / 20) {
        let mut bad = good.clone();
        bad[at] ^= 4;
        fs::write(dir.join(format!("{:020}.log.zst", 0)), bad).unwrap();
        let (found, _) = found_by(&mut Reader::open(&dir, disk()).unwrap());
        assert_eq!(found, [format!("GAP 0 {}", text.len()), "after".to_owned()], "at {at}");
    }
}

/// What somebody does to a journal that a process is writing.
type Replacement = fn(&Path, &Path);

/// Writes lines `a`, has a reader take them, writes `b`, replaces, and writes `c` until some are
/// durable. Returns what the running reader and a resumed one found, and the alarms.
fn replaced_while_written(replace: Replacement) -> ([Vec<String>; 2], Vec<String>) {
    let home = tempdir().unwrap();
    let (dir, older) = (home.path().join("journal"), home.path().join("older"));
    write(&dir, "old");
    copy(&dir, &older);
    let mut options = Options::new(&dir);
    options.sync = Sync::Always;
    let journal = Journal::open(options, disk()).unwrap();
    let lane = journal.lane();
    let append = |name: &str| {
        let line = format!("{name} {}", "x".repeat(100));
        lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait().is_ok()
    };
    assert!((0..10).all(|n| append(&format!("a{n}"))));
    let mut running = Reader::open(&dir, disk()).unwrap();
    assert_eq!(found_by(&mut running).0.len(), 20);
    let place = running.place();
    assert!((0..10).all(|n| append(&format!("b{n}"))));
    replace(&dir, &older);
    let mut alarms = Vec::new();
    let mut n = 0;
    let durable = loop {
        let name = format!("c{n}");
        let is_durable = append(&name);
        alarms.extend(journal.health().alarm);
        if is_durable {
            break name;
        }
        n += 1;
    };
    let (mut resumed, displaced) =
        Reader::open(&dir, disk()).unwrap().resume(place).expect("the journal opens");
    let mut found = [found_by(&mut running).0, found_by(&mut resumed).0];
    found[1].splice(0..0, displaced.map(|it| format!("Displaced {it:?}")));
    for found in &found {
        assert!(found.contains(&durable), "{durable} was acknowledged: {found:?}");
    }
    (found, alarms)
}

#[test]
fn a_journal_that_is_replaced_while_it_is_written_says_so_and_goes_on() {
    let replacements: [(&str, Replacement); 5] = [
        ("its segment removed", |dir, _| fs::remove_file(segments(dir).last().unwrap()).unwrap()),
        ("its segment cut", |dir, _| fs::write(segments(dir).last().unwrap(), "").unwrap()),
        ("removed", |dir, _| fs::remove_dir_all(dir).unwrap()),
        ("an older copy", |dir, older| {
            fs::remove_dir_all(dir).unwrap();
            copy(older, dir);
        }),
        ("moved away", |dir, _| fs::rename(dir, dir.with_extension("away")).unwrap()),
    ];
    for (name, replace) in replacements {
        let (found, alarms) = replaced_while_written(replace);
        println!("{name}: {found:?}, {alarms:?}");
        assert!(alarms.iter().any(|alarm| alarm.contains("segment")), "{name}: {alarms:?}");
        for found in found {
            let words = ["GAP", "LOST", "Displaced"];
            let is_told = found.iter().any(|it| words.iter().any(|word| it.starts_with(word)));
            let has_all = (0..10).all(|n| found.contains(&format!("b{n}")));
            assert!(is_told || has_all, "{name}: lines are lost in silence: {found:?}");
            assert!(found.iter().all(|it| !it.starts_with("old") && !it.starts_with('a')));
        }
    }
}

#[test]
fn what_another_program_appends_keeps_its_place_and_costs_no_line() {
    use std::io::Write;

    let home = tempdir().unwrap();
    let dir = home.path().join("journal");
    let mut options = Options::new(&dir);
    options.sync = Sync::Always;
    options.segment_bytes_max = 1000;
    let journal = Journal::open(options, disk()).unwrap();
    let lane = journal.lane();
    let mut running = Reader::open(&dir, disk()).unwrap();
    let mut found = Vec::new();
    let mut expected = Vec::new();
    for n in 0..30 {
        let line = format!("line{n} {}", "x".repeat(100));
        lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait().unwrap();
        expected.push(format!("line{n}"));
        found.extend(found_by(&mut running).0);
        assert_eq!(found, expected, "what is acknowledged is found at once");
        if n % 4 == 1 {
            let foreign = if n % 8 == 1 { "no line" } else { "line" };
            let file = fs::OpenOptions::new().append(true).open(segments(&dir).last().unwrap());
            let end = if foreign == "line" { "\n" } else { "" };
            write!(file.unwrap(), "{foreign}{end}").unwrap();
            expected.push(foreign.split(' ').next().unwrap().to_owned());
        }
    }
    let alarm = journal.health().alarm.unwrap();
    assert!(alarm.contains("another program wrote"), "{alarm}");
    drop(journal);
    assert_eq!(read(&dir, None).0, found);
}

#[test]
fn a_writer_does_not_write_to_a_directory_that_another_has_taken_meanwhile() {
    let home = tempdir().unwrap();
    let dir = home.path().join("journal");
    let mut options = Options::new(&dir);
    options.sync = Sync::Always;
    let journal = Journal::open(options.clone(), disk()).unwrap();
    let lane = journal.lane();
    let append = || lane.append_durable(|out| out.extend_from_slice(b"first")).wait();
    append().unwrap();
    fs::rename(&dir, home.path().join("away")).unwrap();
    let other = Journal::open(options, disk()).unwrap();
    for _ in 0..3 {
        append().unwrap_err();
    }
    let other_lane = other.lane();
    other_lane.append_durable(|out| out.extend_from_slice(b"second")).wait().unwrap();
    let (found, ..) = read(&dir, None);
    assert_eq!(found, ["LOST", "second"]);
    let alarm = journal.health().alarm.unwrap();
    assert!(alarm.contains("another process has locked"), "{alarm}");
}

/// What a running reader gives of a journal whose lock was removed. A second process has then
/// written more than the first one left in its segment.
fn found_behind_a_removed_lock(has_limit: bool) -> Vec<String> {
    let home = tempdir().unwrap();
    let dir = home.path().join("journal");
    let mut options = Options::new(&dir);
    options.sync = Sync::Always;
    let first = Journal::open(options.clone(), disk()).unwrap();
    let lane = first.lane();
    let refused = |name: &str| {
        let line = format!("{name} {}", "x".repeat(300));
        lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait()
    };
    refused("before").unwrap();
    let mut reader = Reader::open(&dir, disk()).unwrap();
    assert_eq!(found_by(&mut reader).0, ["before"]);
    fs::remove_file(dir.join("lock")).unwrap();
    let second = Journal::open(options, disk()).unwrap();
    // It gets into the segment of the first one, behind the lines of the journal.
    refused("refused").unwrap_err();
    let lane = second.lane();
    for n in 0..10 {
        let line = format!("b{n} {}", "x".repeat(100));
        lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait().unwrap();
    }
    if !has_limit {
        fs::remove_file(dir.join("synced")).unwrap();
    }
    let (found, _) = found_by(&mut reader);
    let place = reader.place();
    assert_eq!(read(&dir, Some(place)), (Vec::new(), place, None), "the journal has the place");
    found
}

#[test]
fn lines_that_a_writer_without_its_lock_left_behind_the_next_segment_are_nobodys() {
    for has_limit in [true, false] {
        assert_eq!(found_behind_a_removed_lock(has_limit), lines_of("b"), "{has_limit}");
    }
}

#[test]
fn an_older_copy_that_has_all_that_was_read_is_told_by_the_witness_beside_the_journal() {
    let home = tempdir().unwrap();
    let older = home.path().join("older");
    write(&home.path().join("journal"), "old");
    copy(&home.path().join("journal"), &older);
    let (dir, place, end) = read_to_a(home.path());
    fs::remove_dir_all(&dir).unwrap();
    copy(&older, &dir);
    // The copy has the place: only the newest lines are gone.
    let (_, old, _) = read(&dir, None);
    write(&dir, "c");
    let (mut reader, displaced) = Reader::open(&dir, disk()).unwrap().resume(old).unwrap();
    assert_eq!(displaced, None);
    let (found, _) = found_by(&mut reader);
    assert_eq!(found[0], format!("LOST {} {end}", old.offset));
    assert_eq!(found[1..], lines_of("c"));
    let (_, displaced) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
    assert_eq!(displaced.unwrap().lost_to, Some(end));
}

#[test]
fn of_a_removed_journal_the_lines_that_were_not_read_are_named_to_the_byte_once() {
    for is_reader_first in [false, true] {
        let home = tempdir().unwrap();
        let (dir, place, end) = read_to_a(home.path());
        fs::remove_dir_all(&dir).unwrap();
        if !is_reader_first {
            write(&dir, "c");
        }
        let (mut reader, displaced) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
        assert_eq!(displaced.unwrap().lost_to, Some(end));
        if is_reader_first {
            assert_eq!(found_by(&mut reader).0, [""; 0]);
            write(&dir, "c");
        }
        assert_eq!(found_by(&mut reader).0, lines_of("c"));
    }
}

#[test]
fn a_writer_does_not_write_among_the_lines_of_a_longer_journal() {
    let home = tempdir().unwrap();
    let (dir, longer) = (home.path().join("journal"), home.path().join("longer"));
    ["x", "y", "z"].iter().for_each(|name| write(&longer, name));
    let mut options = Options::new(&dir);
    options.sync = Sync::Always;
    let journal = Journal::open(options, disk()).unwrap();
    let lane = journal.lane();
    let append = || lane.append_durable(|out| out.extend_from_slice(b"ours")).wait();
    append().unwrap();
    fs::remove_dir_all(&dir).unwrap();
    fs::rename(&longer, &dir).unwrap();
    for _ in 0..3 {
        append().unwrap_err();
    }
    let alarm = journal.health().alarm.unwrap();
    assert!(alarm.contains("holds another journal"), "{alarm}");
    assert_eq!(read(&dir, None).0, ["x", "y", "z"].map(lines_of).concat());
}

#[test]
fn a_loss_is_in_the_first_session_that_can_be_noted() {
    let home = tempdir().unwrap();
    let (dir, place, end) = read_to_a(home.path());
    fs::remove_dir_all(&dir).unwrap();
    // A directory in its place keeps the session from being noted.
    fs::create_dir_all(dir.join("sessions.tmp")).unwrap();
    let journal = Journal::open(Options::new(&dir), disk()).unwrap();
    fs::remove_dir(dir.join("sessions.tmp")).unwrap();
    let line = |out: &mut Vec<u8>| out.extend_from_slice(b"c0 later");
    journal.lane().append_durable(line).wait().unwrap();
    let (mut reader, displaced) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
    assert_eq!(displaced.unwrap().lost_to, Some(end));
    assert_eq!(found_by(&mut reader).0, ["c0"]);
}
