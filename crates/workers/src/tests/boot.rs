//! Starts: what processes begin with, and failures, each with an error that says what to do.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn names_the_interpreter_that_is_missing() {
    let error = start_error(|plan| plan.interpreter = "/no/such/python".into()).to_string();
    assert!(error.contains("`/no/such/python`") && error.contains("hint: "), "{error}");
    let error = start_error(|plan| plan.interpreter = "python-of-nobody".into()).to_string();
    assert!(error.contains("in any directory of `PATH`"), "{error}");
}

#[test]
fn an_interpreter_may_be_a_script_that_starts_it() {
    let bench = Bench::serving(APP, |plan| {
        let script = plan.app_dir.join("python");
        let text = format!("#!/bin/sh\n{} \"$@\"\n", interpreter().display());
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        plan.interpreter = script;
    });
    let preload = bench.pool().status().holders[0];
    signal(preload, "KILL");
    bench.wait("it is replaced", |status| {
        status.workers.len() == 2 && status.workers.iter().all(|it| it.generation == 2)
    });
    assert!(bench.get("/").ends_with(" one"));
}

#[test]
fn processes_yield_to_others_as_the_plan_says() {
    let told = (niceness("self") + 3).min(19);
    let bench = Bench::serving(APP, |plan| plan.niceness = 3);
    let status = bench.pool().status();
    for pid in pids(&status).into_iter().chain(status.holders) {
        assert_eq!(niceness(&pid.to_string()), told, "{pid}");
    }
}

/// The nineteenth field of stat; the state, behind the name, is the third.
fn niceness(pid: &str) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(16).unwrap().parse().unwrap()
}

#[test]
fn names_the_directory_that_cannot_be_used() {
    let error = start_error(|plan| plan.dir = plan.app_dir.join("app.py/pool"));
    assert!(error.to_string().contains("make the directory"), "{error}");
    let error = start_error(|plan| plan.dir = plan.app_dir.join("x".repeat(100)));
    assert!(matches!(error, WorkersError::PathTooLong { max: 75, .. }), "{error}");
    let error = start_error(|plan| plan.app_dir = plan.app_dir.join("nowhere"));
    assert!(matches!(error, WorkersError::NoAppDir { .. }), "{error}");
}

#[test]
fn a_successor_takes_the_directory_beside_it_and_a_third_none() {
    let bench = Bench::new(APP, |_| {});
    let start = || Workers::start(plan(bench.dir.path()), &Registry::default());
    let successor = start().unwrap();
    assert!(bench.dir.path().join("pool.next/control.sock").exists());
    assert!(matches!(start().err().unwrap(), WorkersError::InUse { .. }));
    successor.begin_end();
    successor.end();
    start().unwrap().end();
    let mode = std::fs::metadata(bench.dir.path().join("pool")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_failing_import_is_told_and_mended_by_writing_the_file() {
    let bench = Bench::new("import nothing_of_that_name\n", |_| {});
    let status = bench.wait("the import failed", |status| status.state == "failing");
    let trouble = status.last_error.unwrap();
    assert_eq!(trouble.stage, "import");
    assert!(trouble.traceback.unwrap().contains("nothing_of_that_name"));
    let refused = bench.try_take(FIXTURE_TIMEOUT).err().unwrap();
    let LendError::NoWorkers(reason) = refused else { panic!("{refused}") };
    assert!(reason.contains("nothing_of_that_name"), "{reason}");
    assert!(bench.pool().alarms()[0].contains("none is in service"));
    write(bench.dir.path(), "app.py", APP);
    bench.wait_until_full();
    assert!(bench.get("/").ends_with(" one"));
}

#[test]
fn an_import_without_end_is_cut_at_the_boot_timeout() {
    let bench = Bench::new("import time\ntime.sleep(300)\n", |plan| {
        plan.boot_timeout = Duration::from_millis(1500);
    });
    // A busy machine may not even get as far at the first try.
    bench.wait("the import was cut", |status| {
        let error = status.last_error.as_ref();
        let is_cut = |it: &crate::Incident| it.reason.contains("was not imported within 1.5 s");
        status.state == "failing" && error.is_some_and(is_cut)
    });
}

#[test]
fn a_preload_that_fails_is_told() {
    let app = format!("{APP}\ndef load():\n    raise OSError('no model here')\n");
    let bench = Bench::new(APP, |plan| {
        write(&plan.app_dir, "models.py", &app);
        plan.preload = Some("models:load".to_owned());
    });
    let status = bench.wait("the preload failed", |status| status.state == "failing");
    let trouble = status.last_error.unwrap();
    assert_eq!(trouble.stage, "preload");
    assert!(trouble.reason.contains("no model here"), "{trouble:?}");
}

#[test]
fn an_app_that_starts_threads_when_imported_is_forked_by_nobody() {
    let threads = format!(
        "import threading, time\n\
         threading.Thread(target=time.sleep, args=(3600,), name='ticker', daemon=True).start()\n\
         {APP}"
    );
    let bench = Bench::new(&threads, |_| {});
    let status = bench.wait("the fork is refused", |status| status.state == "failing");
    let trouble = status.last_error.unwrap();
    assert_eq!(trouble.stage, "threads");
    assert!(trouble.reason.contains("ticker") && trouble.hint.unwrap().contains("share"));
    let bench = Bench::serving(&threads, |plan| plan.share_memory = false);
    assert!(bench.get("/").ends_with(" one"));
    assert_eq!(bench.pool().status().holders.len(), 0);
}

#[test]
fn a_worker_must_answer_the_canary_as_told() {
    let hangs = APP.replace("def act(path):", "def act(path):\n    time.sleep(3600)");
    let bench = Bench::new(&hangs, |plan| plan.boot_timeout = Duration::from_millis(1500));
    bench.wait("the canary is cut", |status| {
        status.last_error.as_ref().is_some_and(|error| error.stage == "canary")
    });
    assert!(bench.pool().status().generation.is_none());
    let bench = Bench::new(APP, |plan| {
        plan.canary = Some(crate::Canary { path: "/raise".to_owned(), status: Some(200) });
    });
    let status = bench.wait("the canary is answered 500", |status| status.state == "failing");
    assert!(status.last_error.unwrap().reason.contains("answered 500, not 200"));
}

#[test]
fn a_crash_loop_backs_off_and_says_why() {
    let crashes = APP.replace("def act(path):", "def act(path):\n    os._exit(7)");
    let bench = Bench::new(&crashes, |_| {});
    let is_told = |status: &Status| {
        let error = status.last_error.as_ref();
        status.alarms.len() == 1 && error.is_some_and(|it| it.reason.contains("status 7"))
    };
    let status = bench.wait("the loop is told", |status| {
        is_told(status) && status.restarts.get("boot").is_some_and(|count| *count >= 3)
    });
    assert_eq!(status.state, "failing");
    let refused = bench.try_take(FIXTURE_TIMEOUT).err().unwrap();
    assert!(matches!(refused, LendError::NoWorkers(_)), "{refused}");
}
