//! A compressed segment that stands at another place than it was made for. It is a loss of exactly
//! its range, and none of its lines comes.

use std::fs;

use stdx::RealDisk;
use tempfile::{TempDir, tempdir};

use super::*;

fn disk() -> Arc<dyn Disk> {
    Arc::new(RealDisk)
}

fn packed(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let mut packed: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|end| end == "zst")).collect();
    packed.sort();
    packed
}

/// A journal with the lines `NAME0` to `NAME5`, of equal lengths, in a segment each. All but the
/// last are compressed.
fn sealed(home: &TempDir, name: &str) -> PathBuf {
    let dir = home.path().join(name);
    let mut options = Options::new(&dir);
    (options.sync, options.segment_bytes_max) = (Sync::Always, 1);
    let journal = Journal::open(options, disk()).unwrap();
    let lane = journal.lane();
    for n in 0..6 {
        let line = format!("{name}{n}");
        lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait().unwrap();
    }
    until(&journal, "the segments are compressed", |_| packed(&dir).len() == 5);
    dir
}

fn lines(name: &str) -> Vec<String> {
    (0..6).map(|n| format!("{name}{n}")).collect()
}

#[test]
fn sealed_segments_are_read_and_unpacked_by_any_program() {
    let home = tempdir().unwrap();
    let dir = sealed(&home, "a");
    assert_eq!(read_all(&dir, disk()), lines("a"));
    assert_eq!(zstd::decode_all(&*fs::read(&packed(&dir)[2]).unwrap()).unwrap(), b"a2\n");
    drop(Journal::open(Options::new(&dir), disk()).unwrap());
    fs::remove_file(dir.join("sessions")).unwrap();
    assert_eq!(read_all(&dir, disk()), lines("a"), "the sessions are gone");
}

#[test]
fn a_segment_under_the_name_of_another_is_a_gap_of_its_range() {
    let home = tempdir().unwrap();
    let dir = sealed(&home, "a");
    let files = packed(&dir);
    fs::copy(&files[1], &files[3]).unwrap();
    assert_eq!(read_all(&dir, disk()), ["a0", "a1", "a2", "GAP 9 12", "a4", "a5"]);
    let home = tempdir().unwrap();
    let dir = sealed(&home, "a");
    let files = packed(&dir);
    fs::rename(&files[1], dir.join("aside")).unwrap();
    fs::rename(&files[2], &files[1]).unwrap();
    fs::rename(dir.join("aside"), &files[2]).unwrap();
    assert_eq!(read_all(&dir, disk()), ["a0", "GAP 3 6", "GAP 6 9", "a3", "a4", "a5"]);
}

#[test]
fn a_segment_of_another_journal_is_a_gap_of_its_range() {
    let home = tempdir().unwrap();
    let (one, other) = (sealed(&home, "a"), sealed(&home, "b"));
    fs::copy(&packed(&one)[2], &packed(&other)[2]).unwrap();
    assert_eq!(read_all(&other, disk()), ["b0", "b1", "GAP 6 9", "b3", "b4", "b5"]);
}

#[test]
fn a_segment_that_was_copied_behind_the_end_does_not_move_it() {
    let home = tempdir().unwrap();
    let dir = sealed(&home, "a");
    fs::copy(&packed(&dir)[1], dir.join(format!("{:020}.log.zst", 18))).unwrap();
    let journal = Journal::open(Options::new(&dir), disk()).unwrap();
    assert_eq!(journal.stats().offset, 18);
    drop(journal);
    assert_eq!(read_all(&dir, disk()), lines("a"));
}

#[test]
fn a_segment_of_a_version_without_seals_is_read() {
    let home = tempdir().unwrap();
    let dir = sealed(&home, "a");
    let file = &packed(&dir)[2];
    fs::write(file, zstd::encode_all(&b"a2\n"[..], 3).unwrap()).unwrap();
    assert_eq!(read_all(&dir, disk()), lines("a"));
}

#[test]
fn of_a_segment_whose_seal_is_damaged_or_cut_off_in_part_nothing_is_handed_out() {
    let home = tempdir().unwrap();
    let dir = sealed(&home, "a");
    let file = &packed(&dir)[2];
    let good = fs::read(file).unwrap();
    for at in 1..59 {
        let (mut bad, mut cut) = (good.clone(), good.clone());
        bad[good.len() - at] ^= 1;
        cut.truncate(good.len() - at);
        for bytes in [bad, cut] {
            fs::write(file, bytes).unwrap();
            let found = read_all(&dir, disk());
            assert_eq!(found, ["a0", "a1", "GAP 6 9", "a3", "a4", "a5"], "{at} from the end");
        }
    }
}
