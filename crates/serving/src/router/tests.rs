//! Paths and methods, and who computes what when.

use std::collections::VecDeque;
use std::fs;

use parking_lot::Mutex;
use testkit::TempDir;

use super::*;
use crate::config::PredictorPlan;
use crate::queued::{JobGroup, QueuedAnswer};

/// Runs jobs when told to, and holds at most four.
#[derive(Default)]
struct ByHand(Mutex<VecDeque<Box<dyn FnOnce() + Send>>>);

impl JobPool for ByHand {
    fn spawn(&self, _: JobGroup<'_>, job: Box<dyn FnOnce() + Send>) -> bool {
        let mut jobs = self.0.lock();
        let has_room = jobs.len() < 4;
        if has_room {
            jobs.push_back(job);
        }
        has_room
    }
}

impl ByHand {
    fn run(&self) {
        loop {
            let Some(job) = self.0.lock().pop_front() else { return };
            job();
        }
    }
}

struct One(Arc<Mutex<Vec<(u16, String)>>>);

impl AnswerSender for One {
    fn is_waiting(&self) -> bool {
        true
    }

    fn send(self: Box<Self>, answer: QueuedAnswer) {
        let said = match answer {
            Ok((_, body)) => (200, String::from_utf8(body.to_vec()).unwrap()),
            Err(refusal) => (refusal.status, refusal.reason),
        };
        self.0.lock().push(said);
    }
}

struct Served {
    models: Arc<Models>,
    pool: Arc<ByHand>,
    told: Arc<Mutex<Vec<(u16, String)>>>,
    _folder: TempDir,
}

impl Served {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let text = r#"{"format":"tidegate-linear-1","name":"m","version":"7","intercept":1.0,
            "features":[{"name":"item.a","weight":2.0}]}"#;
        let file = dir.path().join("line.json");
        fs::write(&file, text).unwrap();
        let plan = PredictorPlan {
            name: "line".to_owned(),
            file,
            version: None,
            golden: None,
            iterations: models::Iterations::Best,
            rows_max: 10,
            concurrency: usize::MAX,
            queue_max: 10,
        };
        let plans = ModelPlans { predictors: vec![plan], ..ModelPlans::default() };
        let pool = Arc::new(ByHand::default());
        let models = Models::open(plans, None, Arc::clone(&pool) as Arc<dyn JobPool>);
        Self { models: Arc::new(models), pool, told: Arc::default(), _folder: dir }
    }

    fn asked(&self, method: &str, path: &str) -> (u16, String) {
        let mut out = Vec::new();
        let request = ModelRequest { method, path, ..ModelRequest::default() };
        match self.models.answer(&request, &mut out) {
            Ok(_) => (200, String::from_utf8(out).unwrap()),
            Err(refusal) => (refusal.status, refusal.reason),
        }
    }

    fn allowed_methods(&self, method: &str, path: &str) -> Option<&'static str> {
        let request = ModelRequest { method, path, ..ModelRequest::default() };
        let refusal = self.models.answer(&request, &mut Vec::new()).unwrap_err();
        assert_eq!(refusal.status, 405);
        refusal.allowed_methods
    }

    fn begin(&self, body: &str) {
        let (method, path) = ("POST", "/v2/models/line/infer");
        let request = ModelRequest { method, path, ..ModelRequest::default() };
        let sender = One(Arc::clone(&self.told));
        self.models.queue(&request, body.to_owned().into(), Box::new(sender));
    }
}

const BODY: &str = r#"{"inputs":[{"name":"input","shape":[1,1],"datatype":"FP64","data":[3]}]}"#;

#[test]
fn paths_and_methods_that_are_none_of_ours_are_told_apart() {
    let served = Served::new();
    assert_eq!(served.asked("GET", "/nothing").0, 404);
    assert_eq!(served.asked("GET", "/v1/models/line").0, 404);
    assert_eq!(served.allowed_methods("DELETE", "/v2"), Some("GET, HEAD"));
    assert_eq!(served.allowed_methods("GET", "/v2/models/line/infer"), Some("POST"));
    assert_eq!(served.allowed_methods("GET", "/cluster"), Some("POST"));
    assert_eq!(served.asked("GET", "/v2/models/none").0, 404);
    assert_eq!(served.asked("GET", "/v2/models/line/versions/8").0, 404);
    assert_eq!(served.asked("HEAD", "/v2/models/line/versions/7/ready").0, 200);
}

#[test]
fn long_questions_are_answered_on_the_pool_and_full_pools_say_so() {
    let served = Served::new();
    (0..5).for_each(|_| served.begin(BODY));
    assert_eq!(*served.told.lock(), [(503, "too many model requests; try again".to_owned())]);
    served.pool.run();
    let told = served.told.lock();
    assert_eq!(told.len(), 5);
    assert!(told[1..].iter().all(|(status, body)| *status == 200 && body.contains("[7.0]")));
}

#[test]
fn a_refusal_reaches_who_asked_on_the_pool() {
    let served = Served::new();
    served.begin("{");
    served.begin(&BODY.replace("[1,1]", "[11,1]").replace("[3]", "[0,1,2,3,4,5,6,7,8,9,10]"));
    served.pool.run();
    let statuses: Vec<u16> = served.told.lock().iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [400, 413]);
}

#[test]
fn a_model_that_was_unloaded_is_not_ready_and_not_unhealthy() {
    let served = Served::new();
    served.models.set_loaded("line", false).unwrap();
    assert_eq!(served.asked("GET", "/v2/models/line/ready").0, 503);
    assert_eq!(served.asked("GET", "/v2/health/ready").0, 200);
    assert_eq!(served.asked("GET", "/health"), served.asked("GET", "/v2/health/ready"));
    assert_eq!(served.models.index()[0]["state"], "UNAVAILABLE");
    assert_eq!(served.models.set_loaded("none", true).unwrap_err().status, 404);
}

#[test]
fn a_request_shares_its_turn_with_those_of_its_model_that_are_about_as_long() {
    let served = Served::new();
    let share = |path: &str, bytes: usize| {
        let body = vec![b' '; bytes].into();
        let request = QueuedRequest::new(&ModelRequest { path, ..ModelRequest::default() }, body);
        let (limit, group) = served.models.share(&request);
        (limit.is_some(), group.model.to_owned(), group.is_long)
    };
    let line = "/v2/models/line/infer";
    assert_eq!(share(line, 100), (true, "line".to_owned(), false));
    assert_eq!(share(line, 10_000_000), (true, "line".to_owned(), true));
    assert_eq!(share("/v2/models/none/infer", 100), (false, String::new(), false));
    assert_eq!(share("/v1/embeddings", 100), (false, String::new(), false));
    assert_eq!(share("/v1/embeddings", 100_000), (false, String::new(), true));
    assert_eq!(share("/v2", 100), (false, String::new(), false));
}
