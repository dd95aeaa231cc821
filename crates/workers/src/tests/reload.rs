//! New code takes over from old code, and the model stays loaded.

use super::*;

const MODEL: &str = "def load():\n    open('loads', 'a').write('x')\n    return 'model'\n";

fn with_model(plan: &mut Plan) {
    write(&plan.app_dir, "models.py", MODEL);
    plan.preload = Some("models:load".to_owned());
}

fn second() -> String {
    APP.replace("\"one\"", "\"two\"").replace("import os", "import models, os")
}

fn first() -> String {
    APP.replace("import os", "import models, os")
}

fn loads(bench: &Bench) -> usize {
    std::fs::read(bench.dir.path().join("loads")).unwrap().len()
}

fn generation_alone(bench: &Bench, generation: u64) -> Status {
    bench.wait(&format!("generation {generation} serves alone"), |status| {
        status.generation == Some(generation)
            && status.workers.len() == 2
            && status.workers.iter().all(|it| it.generation == generation && it.state == "free")
    })
}

#[test]
fn changed_code_is_served_without_loading_the_model_again() {
    let bench = Bench::serving(&first(), with_model);
    assert!(bench.get("/").ends_with(" one"));
    write(bench.dir.path(), "app.py", &second());
    let status = generation_alone(&bench, 2);
    assert!(bench.get("/").ends_with(" two"));
    assert_eq!(loads(&bench), 1);
    assert!(status.reload_s.is_some() && status.preload_s.is_some());
    bench.wait("the old parent has ended", |status| status.holders.len() == 2);
    bench.wait("both ends are told", |status| status.restarts.get("reload") == Some(&2));
}

#[test]
fn a_request_that_runs_is_finished_by_the_old_code() {
    let bench = Bench::serving(APP, |_| {});
    let loan = bench.take();
    let mut stream = send(loan.socket(), "/gate").unwrap();
    bench.wait_for_file("at-gate");
    write(bench.dir.path(), "app.py", &APP.replace("\"one\"", "\"two\""));
    bench.wait("the new code serves", |status| {
        status.generation == Some(2)
            && status.workers.iter().all(|it| it.generation == 2 || it.state == "leaving")
    });
    assert!(bench.get("/").ends_with(" two"));
    bench.open("open");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.contains(" one"), "{reply}");
    loan.done();
    generation_alone(&bench, 2);
}

#[test]
fn reloading_loses_nothing_under_load() {
    let bench = Bench::serving(&first(), with_model);
    bench.under_load(20, || {
        write(bench.dir.path(), "app.py", &second());
        bench.wait("the new code serves alone", |status| {
            status.workers.len() == 2 && status.workers.iter().all(|it| it.generation == 2)
        });
        write(bench.dir.path(), "models.py", &format!("{MODEL}\n# changed\n"));
        bench.wait("a new preload process's code serves alone", |status| {
            status.workers.len() == 2 && status.workers.iter().all(|it| it.generation == 3)
        });
    });
    assert_eq!(loads(&bench), 2);
    let restarts = bench.pool().status().restarts;
    assert_eq!(restarts.keys().collect::<Vec<_>>(), [&"reload"], "{restarts:?}");
}

#[test]
fn code_that_fails_leaves_the_old_code_serving() {
    let bench = Bench::serving(APP, |_| {});
    write(bench.dir.path(), "app.py", "def app(:\n");
    let status = bench.wait("the failure is told", |status| status.last_error.is_some());
    assert!(bench.get("/").ends_with(" one"));
    let trouble = status.last_error.unwrap();
    assert!(trouble.traceback.unwrap().contains("SyntaxError"));
    assert!(status.alarms[0].contains("the old goes on"), "{:?}", status.alarms);
    assert_eq!((status.state, status.generation), ("serving", Some(1)));
    write(bench.dir.path(), "app.py", &APP.replace("\"one\"", "\"two\""));
    bench.wait("the mended code serves", |status| status.generation.is_some_and(|it| it > 1));
    bench.wait("the alarm is over", |status| status.alarms.is_empty());
}

#[test]
fn the_model_stays_loaded_while_the_code_is_mended() {
    let bench = Bench::new("import models\nraise OSError('not yet')\n", with_model);
    bench.wait("the import failed", |status| status.state == "failing");
    write(bench.dir.path(), "app.py", &first());
    bench.wait_until_full();
    assert!(bench.get("/").ends_with(" one"));
    assert_eq!(loads(&bench), 1);
}

#[test]
fn a_change_of_the_model_that_failed_is_not_passed_over_later() {
    let bench = Bench::serving(&first(), with_model);
    write(bench.dir.path(), "models.py", "def load():\n    raise OSError('no model')\n");
    bench.wait("the preload failed", |status| !status.alarms.is_empty());
    write(bench.dir.path(), "app.py", &second());
    let failed = |status: &Status| status.last_error.clone().map(|error| error.unix_us);
    let before = failed(&bench.pool().status());
    bench.wait("it failed again", |status| failed(status) > before);
    assert!(bench.get("/").ends_with(" one"));
    write(bench.dir.path(), "models.py", MODEL);
    bench.wait("all that changed serves", |status| {
        status.alarms.is_empty()
            && status.workers.len() == 2
            && status.workers.iter().all(|it| it.generation > 1 && it.state == "free")
    });
    assert!(bench.get("/").ends_with(" two"));
}

#[test]
fn what_the_preload_process_has_loaded_is_loaded_anew_when_it_changes() {
    let bench = Bench::serving(&first(), with_model);
    let before = bench.pool().status();
    write(bench.dir.path(), "models.py", &format!("{MODEL}\n# changed\n"));
    generation_alone(&bench, 2);
    let status =
        bench.wait("the old preload process has ended", |status| status.holders.len() == 2);
    assert_ne!(status.holders[0], before.holders[0]);
    assert_eq!(loads(&bench), 2);
}

#[test]
fn a_wish_reloads_where_files_are_not_watched() {
    let bench = Bench::serving(APP, |plan| plan.reload = false);
    write(bench.dir.path(), "app.py", &APP.replace("\"one\"", "\"two\""));
    assert!(bench.get("/").ends_with(" one"));
    bench.pool().reload();
    generation_alone(&bench, 2);
    assert!(bench.get("/").ends_with(" two"));
}

#[test]
fn workers_that_share_nothing_are_reloaded_too() {
    let bench = Bench::serving(APP, |plan| plan.share_memory = false);
    write(bench.dir.path(), "app.py", &APP.replace("\"one\"", "\"two\""));
    generation_alone(&bench, 2);
    assert!(bench.get("/").ends_with(" two"));
}

#[test]
fn a_change_is_not_lost_on_a_worker_that_loads_it_by_itself() {
    let bench = Bench::serving(APP, |plan| plan.share_memory = false);
    write(bench.dir.path(), "app.py", &second().replace("models, ", ""));
    // Its successor imports the changed file before the change is seen.
    signal(pids(&bench.pool().status())[0], "KILL");
    generation_alone(&bench, 2);
    assert!(bench.get("/").ends_with(" two"));
}
