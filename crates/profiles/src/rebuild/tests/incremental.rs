//! Claims about builds that go on from the last one: always what a build from nothing makes.

mod compared;
mod reasons;
mod served;
mod steps;

use super::*;
use crate::{Profiles, ProfilesError};
use generation::Poll as _;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const NOW: u64 = 1_700_000_000_000;

/// A fixture whose builds write changes whatever their size, at times of its own.
struct Steps {
    fixture: Fixture,
    small_bytes: u64,
    expired_max: usize,
}

impl Steps {
    fn new(config: Config) -> Self {
        Self { fixture: Fixture::new(config), small_bytes: 0, expired_max: usize::MAX }
    }

    /// Records reads of (user, item, days after `NOW`).
    fn record(&self, reads: &[(&str, &str, f64)]) {
        self.fixture.record(reads.iter().map(|(user, item, days)| read_at(user, item, at(*days))));
    }

    fn build(&self, days: f64) -> BuildSummary {
        self.try_build(days, Output::Changes).unwrap()
    }

    fn try_build(&self, days: f64, output: Output) -> Result<BuildSummary, ProfilesError> {
        let (plan, journal) = (&self.fixture.plan, self.fixture.journal());
        let unfinished = Unfinished::create(&plan.file)?;
        let mut build = JournalBuild::new(&journal, plan, &UserKey::Plain, at(days))?;
        build.small_bytes = self.small_bytes;
        build.expired_max = self.expired_max;
        build.run(output, unfinished).map(|(built, _)| built)
    }

    fn compare(&self) -> BuildComparison {
        let journal = self.fixture.journal();
        compare_with_whole(&journal, &self.fixture.plan, &UserKey::Plain).unwrap()
    }

    #[track_caller]
    fn assert_as_whole(&self) {
        let comparison = self.compare();
        assert_eq!(comparison.differences, 0, "{comparison}");
        assert_eq!(comparison.rows, comparison.whole_rows);
        let file =
            ProfileFile::open(&self.fixture.plan.file, &FileOptions::default(), None).unwrap();
        assert_eq!(file.rows(), Some(comparison.rows));
    }

    fn manifest(&self) -> Manifest {
        Manifest::read(&state::dir_of(&self.fixture.plan.file)).unwrap().unwrap()
    }

    fn recent(&self, user: &str) -> Vec<String> {
        let profile = self.fixture.profile(user);
        profile.iter().flat_map(Profile::recent).map(str::to_owned).collect()
    }
}

fn at(days: f64) -> u64 {
    (NOW as f64 + days * DAY_MS as f64) as u64
}

fn read_at(user: &str, item: &str, unix_ms: u64) -> Vec<u8> {
    let line = String::from_utf8(read(user, item)).unwrap();
    let now = exchange::decode(line.as_bytes().trim_ascii_end()).unwrap().time_us;
    let time = |us: u64| {
        let mut text = Vec::new();
        exchange::write_rfc3339(us, &mut text);
        String::from_utf8(text).unwrap()
    };
    let moved = line.replace(&time(now), &time(unix_ms * 1_000));
    assert_eq!(
        exchange::decode(moved.as_bytes().trim_ascii_end()).unwrap().time_us,
        unix_ms * 1_000
    );
    moved.into_bytes()
}

fn many(users: std::ops::Range<u32>) -> Vec<(String, String, f64)> {
    users
        .flat_map(|user| (0..3).map(move |item| (user, item)))
        .map(|(user, item)| {
            let days = f64::from(user % 29) - 29.0 + f64::from(item) / 10.0;
            (format!("user-{user:04}"), (user * 7 + item).to_string(), days)
        })
        .collect()
}

fn borrowed(reads: &[(String, String, f64)]) -> Vec<(&str, &str, f64)> {
    reads.iter().map(|(user, item, days)| (&**user, &**item, *days)).collect()
}

#[test]
fn a_build_reads_only_new_lines_and_equals_a_whole_build() {
    let steps = Steps::new(Config::default());
    steps.record(&borrowed(&many(0..300)));
    assert_eq!(steps.build(0.0).lines, 900);
    let file = fs::metadata(&steps.fixture.plan.file).unwrap().modified().unwrap();
    for step in 1..6 {
        let days = f64::from(step) / 100.0;
        let (user, item) = (format!("user-{step:04}"), format!("new-{step}"));
        steps.record(&[(&user, &item, days), ("another", &item, days), ("once", "1", days)]);
        let built = steps.build(days);
        assert_eq!((built.lines, built.items), (3, None));
        assert!(steps.recent(&user).contains(&item));
        steps.assert_as_whole();
    }
    assert_eq!(fs::metadata(&steps.fixture.plan.file).unwrap().modified().unwrap(), file);
    let built = steps.try_build(1.0, Output::WholeFile).unwrap();
    assert_eq!((built.lines, steps.manifest().changes.len()), (0, 0));
    steps.assert_as_whole();
}

#[test]
fn profiles_shrink_and_go_as_their_reads_leave_the_window() {
    let steps = Steps::new(Config { shrink_max: Some("100%".into()), ..Config::default() });
    steps.record(&borrowed(&many(0..200)));
    steps.record(&[("ann", "1", -29.0), ("ann", "2", -20.0), ("ann", "3", -1.0)]);
    steps.build(0.0);
    assert_eq!(steps.recent("ann"), ["3", "2", "1"]);
    for (days, recent) in [(1.5, &["3", "2"][..]), (5.0, &["3", "2"]), (10.5, &[]), (29.5, &[])] {
        assert_eq!(steps.build(days).lines, 0);
        assert_eq!(steps.recent("ann"), recent, "after {days} days");
        steps.assert_as_whole();
    }
    assert_eq!((steps.build(40.0).rows, steps.manifest().users), (0, 0));
}

#[test]
fn a_read_from_the_future_moves_with_the_build() {
    let steps = Steps::new(Config::default());
    steps.record(&borrowed(&many(0..100)));
    steps.record(&[("ann", "1", 3.0), ("ann", "2", -1.0)]);
    for days in [0.0, 1.0, 2.5, 3.0, 4.0, 30.0, 33.5] {
        steps.build(days);
        steps.assert_as_whole();
    }
    assert!(steps.recent("ann").is_empty());
}

#[test]
fn many_small_builds_leave_few_tables_and_fold_in_time() {
    let steps = Steps::new(Config::default());
    steps.record(&borrowed(&many(0..400)));
    steps.build(0.0);
    let mut folds = 0;
    for step in 1..60_u32 {
        let days = f64::from(step) / 50.0;
        let reads = many(step * 5..step * 5 + 3);
        let reads: Vec<_> = reads
            .iter()
            .map(|(user, item, _)| (user.clone(), format!("{item}-{step}"), days))
            .collect();
        steps.record(&borrowed(&reads));
        folds += u32::from(steps.build(days).items.is_some());
        let manifest = steps.manifest();
        for tables in [&manifest.reads, &manifest.expiry, &manifest.changes] {
            assert!(tables.len() <= 8, "{tables:?}");
        }
        if step % 10 == 0 {
            steps.assert_as_whole();
        }
    }
    assert!((1..6).contains(&folds), "{folds}");
    steps.assert_as_whole();
    let tables = fs::read_dir(state::dir_of(&steps.fixture.plan.file)).unwrap().count();
    let manifest = steps.manifest();
    let listed = manifest.reads.len() + manifest.expiry.len() + manifest.changes.len();
    assert_eq!(tables, listed + 1, "the manifest and its tables");
}

/// A build of many users, of whom bob is soon too old, and a server of its file.
fn served() -> (Steps, Profiles) {
    let steps = Steps::new(Config::default());
    steps.record(&borrowed(&many(0..300)));
    steps.record(&[("bob", "1", -29.0), ("bob", "2", -28.0)]);
    steps.build(0.0);
    let profiles = Profiles::open(&steps.fixture.plan.file, FileOptions::default());
    profiles.verify(&Stop::default());
    (steps, profiles)
}

#[test]
fn a_server_sees_changes_without_another_file() {
    let (steps, profiles) = served();
    assert_eq!(profiles.lookup(b"bob"), Lookup::Present);
    assert_eq!((profiles.lookup(b"ann"), profiles.generation()), (Lookup::Absent, Some(1)));
    steps.record(&[("ann", "1", 3.0), ("ann", "2", 3.0)]);
    steps.build(3.0);
    profiles.poll();
    assert_eq!((profiles.lookup(b"ann"), profiles.generation()), (Lookup::Present, Some(2)));
    assert_eq!(profiles.data(b"ann").unwrap().recent().collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!((profiles.lookup(b"bob"), profiles.data(b"bob")), (Lookup::Absent, None));
    assert_eq!(profiles.lookup(b"user-0007"), Lookup::Present);
    let rows = steps.manifest().rows;
    assert_eq!(profiles.status().file.unwrap().profiles, Some(rows));
    steps.try_build(3.0, Output::WholeFile).unwrap();
    profiles.poll();
    assert_eq!((profiles.lookup(b"ann"), profiles.generation()), (Lookup::Present, Some(3)));
    assert_eq!(profiles.lookup(b"bob"), Lookup::Absent);
}

/// Builds after `harm`, and returns how many lines that read.
fn lines_after(steps: &Steps, harm: impl FnOnce(&Steps)) -> u64 {
    harm(steps);
    let built = steps.build(0.5);
    steps.assert_as_whole();
    built.lines
}

fn three_builds() -> Steps {
    let steps = Steps::new(Config::default());
    steps.record(&borrowed(&many(0..300)));
    steps.build(0.0);
    for step in 1..3 {
        let days = f64::from(step) / 10.0;
        steps.record(&[("ann", &format!("new-{step}"), days), ("user-0001", "new", days)]);
        steps.build(days);
    }
    steps
}

#[test]
fn a_damaged_or_missing_state_costs_a_whole_build_and_nothing_else() {
    let names: Vec<_> = {
        let steps = three_builds();
        let entries = fs::read_dir(state::dir_of(&steps.fixture.plan.file)).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        for harm in ["remove", "cut", "flip", "empty"] {
            let steps = three_builds();
            steps.record(&[("user-0001", "more", 0.5), ("ann", "more", 0.5)]);
            let lines = lines_after(&steps, |steps| {
                let path = state::dir_of(&steps.fixture.plan.file).join(&name);
                let mut bytes = fs::read(&path).unwrap();
                match harm {
                    "remove" => return fs::remove_file(&path).unwrap(),
                    "cut" => bytes.truncate(bytes.len() / 2),
                    "flip" => bytes.iter_mut().for_each(|byte| *byte ^= 1),
                    _ => bytes.clear(),
                }
                fs::write(&path, bytes).unwrap();
            });
            assert_eq!(lines, 906, "{harm} {name:?}");
        }
    }
}

/// The files of a directory, with what they hold.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn what_a_build_leaves_when_it_dies_on_the_way_harms_no_other() {
    for output in [Output::Changes, Output::WholeFile] {
        let steps = three_builds();
        let dir = state::dir_of(&steps.fixture.plan.file);
        let (file, before) = (fs::read(&steps.fixture.plan.file).unwrap(), files(&dir));
        steps.record(&[("user-0001", "more", 0.4), ("ann", "more", 0.4)]);
        steps.try_build(0.4, output).unwrap();
        let after = files(&dir);
        // Each file may or may not be there when the manifest is still the old one.
        for torn in 0..after.len() {
            fs::remove_dir_all(&dir).unwrap();
            fs::create_dir(&dir).unwrap();
            for (at, (path, bytes)) in after.iter().enumerate() {
                let bytes = if at == torn { &bytes[..bytes.len() / 2] } else { bytes };
                let is_manifest = *path == state::manifest_path(&dir);
                let path = if is_manifest { dir.join("manifest.new") } else { path.clone() };
                fs::write(path, bytes).unwrap();
            }
            before.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
            // A whole file may be in its place already, and its manifest not.
            if output == Output::Changes || torn % 2 == 0 {
                fs::write(&steps.fixture.plan.file, &file).unwrap();
            }
            steps.build(0.5);
            steps.assert_as_whole();
        }
    }
}

#[test]
fn other_settings_another_file_or_a_clock_set_back_cost_a_whole_build() {
    let harmless = three_builds();
    assert_eq!(lines_after(&harmless, |_| {}), 0);

    let mut steps = three_builds();
    steps.fixture.plan.half_life /= 2;
    assert_eq!(lines_after(&steps, |_| {}), 904);

    let steps = three_builds();
    let file = steps.fixture.plan.file.clone();
    assert_eq!(lines_after(&steps, |_| fs::remove_file(&file).unwrap()), 904);

    let steps = three_builds();
    assert_eq!(steps.build(-0.5).lines, 904);
    steps.assert_as_whole();

    let steps = three_builds();
    let items = steps.fixture.folder.path().join("items.jsonl");
    let lines = lines_after(&steps, |_| fs::write(items, r#"{"id":"7","category":"b"}"#).unwrap());
    assert_eq!(lines, 0, "other categories need no line again");
    assert!(steps.manifest().changes.is_empty(), "but a whole file");
}

#[test]
fn another_or_a_shorter_journal_costs_a_whole_build() {
    let steps = three_builds();
    let journal = steps.fixture.journal();
    let lines = lines_after(&steps, |steps| {
        fs::remove_dir_all(&journal).unwrap();
        steps.record(&borrowed(&many(0..200)));
    });
    assert_eq!(lines, 600);
    let lines = lines_after(&steps, |steps| {
        fs::remove_dir_all(&journal).unwrap();
        steps.record(&borrowed(&many(100..500)));
    });
    assert_eq!(lines, 1_200);
}

/// Records reads in a journal of many short segments.
fn record_in_segments(steps: &Steps, reads: &[(&str, &str, f64)]) {
    let options = Options { segment_bytes_max: 4 << 10, ..Options::new(steps.fixture.journal()) };
    let journal = Journal::open(options, Arc::new(RealDisk)).unwrap();
    let lane = journal.lane();
    for (user, item, days) in reads {
        let line = read_at(user, item, at(*days));
        lane.append(|buffer| buffer.extend_from_slice(&line)).unwrap();
    }
}

/// The files of a journal's segments, by offset.
fn segments(steps: &Steps) -> Vec<PathBuf> {
    let paths = fs::read_dir(steps.fixture.journal()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.to_string_lossy().contains(".log")).collect();
    paths.sort();
    assert!(paths.len() > 2, "{paths:?}");
    paths
}

#[test]
fn a_segment_that_is_missing_between_others_costs_a_whole_build() {
    for from_the_end in [2, 4] {
        let steps = Steps::new(Config::default());
        // A new opening seals what is long enough, so the segments are many.
        for users in 0..10 {
            record_in_segments(&steps, &borrowed(&many(users * 30..(users + 1) * 30)));
        }
        steps.build(0.0);
        let lines = lines_after(&steps, |steps| {
            let segments = segments(steps);
            fs::remove_file(&segments[segments.len() - from_the_end]).unwrap();
            record_in_segments(steps, &[("user-0001", "more", 0.5)]);
        });
        assert!(lines > 100 && lines < 901, "{lines} lines");
    }
}

#[test]
fn changes_that_cannot_be_read_are_said_until_they_can() {
    let steps = three_builds();
    let dir = state::dir_of(&steps.fixture.plan.file);
    let changes = dir.join(&steps.manifest().changes[0].name);
    let good = fs::read(&changes).unwrap();
    fs::write(&changes, &good[..good.len() - 1]).unwrap();
    let profiles = Profiles::open(&steps.fixture.plan.file, FileOptions::default());
    let error = || profiles.status().file.unwrap().changes_error;
    assert!(error().is_some_and(|error| error.contains(".changes")), "{:?}", error());
    steps.record(&[("ann", "more", 0.5)]);
    steps.build(0.5);
    profiles.poll();
    assert_eq!(error(), None);
    steps.assert_as_whole();
}

#[test]
fn a_deleted_segment_matters_until_its_reads_have_expired() {
    let shrink_max = Some("100%".into());
    let steps = Steps::new(Config { items_min: Some(1), shrink_max, ..Config::default() });
    let record = |reads: &[(&str, &str, f64)]| record_in_segments(&steps, reads);
    let old: Vec<(String, String, f64)> =
        (0..100).map(|user| (format!("old-{user}"), "1".to_owned(), -29.0)).collect();
    record(&borrowed(&old));
    record(&borrowed(&many(0..200)));
    steps.build(0.0);
    let delete_first = || fs::remove_file(&segments(&steps)[0]).unwrap();
    delete_first();
    let whole = steps.build(0.1).lines;
    assert!(whole > 0 && whole < 700, "a read of it still counted: {whole}");
    steps.assert_as_whole();
    steps.build(45.0);
    delete_first();
    assert_eq!(steps.build(45.1).lines, 0, "all of its reads had left the window");
    steps.assert_as_whole();
}

#[test]
fn a_build_that_would_lose_most_profiles_leaves_the_changes_as_they_are() {
    let steps = Steps::new(Config { items_min: Some(1), ..Config::default() });
    steps.record(&borrowed(&many(0..300)));
    steps.build(0.0);
    let before = steps.manifest();
    let refused = steps.try_build(29.0, Output::Changes).unwrap_err();
    assert!(matches!(refused, ProfilesError::Shrunk { last: 300, .. }), "{refused}");
    assert_eq!(steps.manifest(), before);
    steps.assert_as_whole();
}
