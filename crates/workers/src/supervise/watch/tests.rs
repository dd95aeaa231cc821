//! Files that change, at all the wrong moments.

use testkit::TempDir;

use super::*;

struct Bench {
    dir: TempDir,
    watch: Watch,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let bench =
            Self { dir: TempDir::new().unwrap(), watch: Watch::default(), now: Instant::now() };
        ["app.py", "models.py"].iter().for_each(|name| bench.write(name, "1"));
        bench
    }

    fn loaded(mut self) -> Self {
        let later = SystemTime::now() + Duration::from_secs(3600);
        let (app, models) = (self.path("app.py"), self.path("models.py"));
        self.watch.add(&[models], later, true);
        self.watch.add(&[app], later, false);
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn look(&mut self) -> Changed {
        self.now += LOOK_INTERVAL;
        self.watch.look(self.now)
    }
}

const NOTHING: Changed = Changed { preloaded: false, any: false };

#[test]
fn a_change_is_reported_once_when_it_is_over() {
    let mut bench = Bench::new().loaded();
    assert_eq!(bench.look(), NOTHING);
    bench.write("app.py", "22");
    assert_eq!(bench.look(), NOTHING);
    bench.write("app.py", "333");
    assert_eq!(bench.look(), NOTHING, "it is still being written");
    assert_eq!(bench.look(), Changed { preloaded: false, any: true });
    assert_eq!(bench.look(), NOTHING);
}

#[test]
fn preloaded_files_are_told_apart() {
    let mut bench = Bench::new().loaded();
    std::fs::remove_file(bench.path("models.py")).unwrap();
    bench.look();
    assert_eq!(bench.look(), Changed { preloaded: true, any: true });
}

#[test]
fn a_file_written_while_it_was_imported_counts_as_changed() {
    let mut bench = Bench::new();
    let app = bench.path("app.py");
    bench.watch.add(&[app], SystemTime::UNIX_EPOCH, false);
    bench.look();
    assert_eq!(bench.look(), Changed { preloaded: false, any: true });
    assert_eq!(bench.look(), NOTHING);
}

#[test]
fn a_file_that_may_mend_a_failure_is_watched_before_it_exists() {
    let mut bench = Bench::new().loaded();
    let missing = bench.path("missing.py");
    bench.watch.add_suspects(std::iter::once(missing));
    assert_eq!(bench.look(), NOTHING);
    bench.write("missing.py", "x");
    bench.look();
    assert!(bench.look().any);
}

#[test]
fn files_that_no_generation_has_are_forgotten() {
    let mut bench = Bench::new().loaded();
    let app = bench.path("app.py");
    bench.watch.keep(&[], &[app]);
    bench.write("models.py", "22");
    bench.look();
    assert_eq!(bench.look(), NOTHING);
}
