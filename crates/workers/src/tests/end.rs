//! At the end nothing is left, and what an earlier end has left is cleared away.

use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};

use super::*;

#[test]
fn the_end_leaves_no_process_and_no_socket() {
    let mut bench = Bench::serving(APP, |_| {});
    let status = bench.pool().status();
    let all: Vec<i32> = pids(&status).into_iter().chain(status.holders).collect();
    assert_eq!(all.len(), 4);
    let pool = bench.pool();
    bench.end();
    assert!(all.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()));
    let sockets = std::fs::read_dir(bench.dir.path().join("pool")).unwrap().flatten();
    assert_eq!(sockets.filter(|it| it.path().extension() == Some("sock".as_ref())).count(), 0);
    assert_eq!(pool.status().state, "ended");
    let refused =
        bench.runtime.block_on(pool.take(Instant::now() + FIXTURE_TIMEOUT)).err().unwrap();
    assert!(matches!(refused, LendError::NoWorkers(_)), "{refused}");
}

#[test]
fn the_end_waits_for_what_runs() {
    let mut bench = Bench::serving(APP, |_| {});
    let loan = bench.take();
    let mut stream = send(loan.socket(), "/gate").unwrap();
    bench.wait_for_file("at-gate");
    bench.workers.as_ref().unwrap().begin_end();
    bench.wait("the free one has left", |status| status.workers.len() == 1);
    bench.open("open");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.contains(" one"), "{reply}");
    loan.done();
    bench.end();
}

#[test]
fn the_end_is_bounded_whatever_workers_do() {
    let mut bench = Bench::serving(APP, |plan| plan.drain_timeout = Duration::from_millis(200));
    let pids = pids(&bench.pool().status());
    let loan = bench.take();
    let _stream = send(loan.socket(), "/hang").unwrap();
    bench.wait_for_file("hangs");
    signal(pids[0], "STOP");
    bench.end();
    assert!(pids.iter().all(|pid| !runs(*pid)));
}

#[test]
fn a_pool_that_never_came_up_ends_too() {
    let mut bench = Bench::new("import time\ntime.sleep(300)\n", |_| {});
    bench.wait("the preload process has come", |status| !status.holders.is_empty());
    bench.end();
}

/// Does nothing, unless it is run by the test below in a directory that says so.
#[test]
fn holds_a_pool_when_told_so_by_its_directory() {
    if !Path::new("hold-a-pool").exists() {
        return;
    }
    let dir = std::env::current_dir().unwrap();
    let workers = Workers::start(plan(&dir), &Registry::default()).unwrap();
    let pool = workers.pool();
    while pool.status().workers.iter().filter(|it| it.state == "free").count() < 2 {
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let status = pool.status();
    let all: Vec<i32> = pids(&status).into_iter().chain(status.holders).collect();
    write(&dir, "pids.new", &all.iter().map(|pid| format!("{pid}\n")).collect::<String>());
    std::fs::rename("pids.new", "pids").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn no_python_outlives_its_supervisor_whatever_it_does() {
    let dir = Arc::new(TempDir::new().unwrap());
    write(dir.path(), "app.py", APP);
    write(dir.path(), "hold-a-pool", "");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::end::holds_a_pool_when_told_so_by_its_directory"]);
    command.current_dir(dir.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let supervisor = Kept(command.spawn().unwrap());
    let until = Instant::now() + FIXTURE_TIMEOUT;
    let wait = |what: &str, is_so: &dyn Fn() -> bool| {
        while !is_so() {
            assert!(Instant::now() < until, "{what}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    };
    wait("the pool serves", &|| dir.path().join("pids").exists());
    let text = std::fs::read_to_string(dir.path().join("pids")).unwrap();
    let all: Vec<i32> = text.lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(all.len(), 4);
    let _stream = send(&dir.path().join("pool/w1.sock"), "/stuck").unwrap();
    wait("a request hangs", &|| dir.path().join("hangs").exists());
    // The kernel wakes and hangs up what is stopped when its parent has ended (_exit(2)).
    signal(all[1], "STOP");
    drop(supervisor);
    wait("all have ended", &|| all.iter().all(|pid| !runs(*pid)));
    Bench::on(&dir, |_| {}).wait_until_full();
}

/// A process that ends with its owner.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn sleeper(control: &Path) -> Kept {
    let mut command = Command::new("sleep");
    command.arg("1000").env("TIDEGATE_CONTROL", control).stdout(Stdio::null());
    let sleeper = Kept(command.spawn().unwrap());
    // A program that has just begun does not show its environment yet.
    let environment = format!("/proc/{}/environ", sleeper.0.id());
    let wanted = control.as_os_str().as_encoded_bytes();
    let is_shown = || {
        let shown = std::fs::read(&environment).unwrap();
        shown.windows(wanted.len()).any(|part| part == wanted)
    };
    while !is_shown() {
        std::thread::yield_now();
    }
    sleeper
}

#[test]
fn left_over_processes_and_sockets_of_this_pool_alone_are_cleared_away() {
    let dir = Arc::new(TempDir::new().unwrap());
    write(dir.path(), "app.py", APP);
    let pool_dir = dir.path().join("pool");
    std::fs::create_dir(&pool_dir).unwrap();
    drop(UnixListener::bind(pool_dir.join("control.sock")).unwrap());
    drop(UnixListener::bind(pool_dir.join("w1.sock")).unwrap());
    let mut own = sleeper(&pool_dir.join("control.sock"));
    let mut foreign = sleeper(&dir.path().join("other/control.sock"));
    let bench = Bench::on(&dir, |_| {});
    bench.wait_until_full();
    assert!(own.0.wait().unwrap().code().is_none());
    assert!(foreign.0.try_wait().unwrap().is_none());
}
