//! Allocations of a rank request, counted by an allocator of this binary's own.
//!
//! Claim: at most 20 in a warm thread, whatever the number of candidates. In truth there are only
//! those of the reply's buffer and of the impression.

use std::fmt::Write as _;
use std::path::PathBuf;

use exchange::{Decision, ModelRequest};
use models::Iterations;
use profiles::Profile;
use serving::{CandidatesPlan, ModelPlan, Ranking};
use testkit::{CountingAllocator, allocated};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A model of 50 live features over `count` items, with a set of 674 of them.
fn ranking(count: usize) -> (tempfile::TempDir, Ranking) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let crosses: Vec<String> = (0..50)
        .map(|n| format!("{{\"left\":\"user.reads\",\"right\":\"item.f{n}\",\"weight\":0.{n}1}}"))
        .collect();
    let model = format!(
        "{{\"format\":\"tidegate-linear-1\",\"name\":\"m\",\"version\":\"1\",\"crosses\":[{}]}}",
        crosses.join(",")
    );
    let mut items = String::new();
    for row in 0..count {
        let _ = write!(items, "{{\"id\":\"{row}\",\"category\":\"{}\"", row % 7);
        (0..50).for_each(|n| {
            let _ = write!(items, ",\"f{n}\":{}", (row * 31 + n * 17) % 101);
        });
        items.push_str("}\n");
    }
    let (file, items_file) = (folder.path().join("m.json"), folder.path().join("i.jsonl"));
    std::fs::write(&file, model).expect("the folder is ours");
    std::fs::write(&items_file, items).expect("the folder is ours");
    let set = CandidatesPlan {
        name: "set".into(),
        fields: Vec::new(),
        highest: Some(("f0".into(), 674)),
    };
    let plan = ModelPlan { candidates: vec![set], ..plan(file, items_file) };
    (folder, Ranking::open(vec![plan]))
}

fn plan(file: PathBuf, items: PathBuf) -> ModelPlan {
    ModelPlan {
        name: "m".into(),
        file,
        items,
        fields: None,
        limit: 10,
        limit_max: 1000,
        candidates_max: 100_000,
        candidates: Vec::new(),
        candidates_default: None,
        per_category_max: None,
        exclude_recent: true,
        version: None,
        golden: None,
        iterations: Iterations::Best,
    }
}

fn cost_of(mut work: impl FnMut()) -> usize {
    // The first request of a thread makes the memory that later ones use again.
    work();
    let before = allocated();
    assert!(before > 0, "allocations are counted");
    work();
    allocated() - before
}

fn of_body(ranking: &Ranking, body: &str) -> usize {
    cost_of(|| {
        let mut reply = Vec::with_capacity(256);
        let request = ModelRequest { body: body.as_bytes(), id: 1, ..ModelRequest::default() };
        ranking.rank("m", &request, &mut reply).expect("a good body");
        assert!(reply.len() > 100);
    })
}

#[test]
fn a_rank_request_allocates_at_most_twenty_times_whatever_its_candidates() {
    let (_folder, ranking) = ranking(20_000);
    let listed = |count: usize| {
        let ids: Vec<String> = (0..count).map(|id| format!("\"{}\"", id % 25_000)).collect();
        format!("{{\"user\":{{\"reads\":3}},\"limit\":100,\"candidates\":[{}]}}", ids.join(","))
    };
    let bodies = [
        r#"{"user":{"reads":3,"affinity":{"b":0.5}}}"#.to_owned(),
        r#"{"candidates":"set","user":{"reads":3},"explain":true}"#.to_owned(),
        listed(1),
        listed(674),
        listed(100_000),
    ];
    for body in &bodies {
        let count = of_body(&ranking, body);
        assert!(count <= 20, "{count} allocations for {}", &body[..40]);
    }
}

/// A ranker of one tree for each of 50 columns, over `count` items.
fn of_trees(count: usize) -> (tempfile::TempDir, Ranking) {
    let (folder, _) = ranking(count);
    let names: Vec<String> = (0..49).map(|n| format!("item.f{n}")).collect();
    let mut model = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=49\n\
         objective=lambdarank\nfeature_names={} user.affinity@item.category\n\n",
        names.join(" ")
    );
    for feature in 0..50 {
        let _ = write!(
            model,
            "Tree={feature}\nnum_leaves=2\nnum_cat=0\nsplit_feature={feature}\nthreshold=0.5\n\
             decision_type=10\nleft_child=-1\nright_child=-2\nleaf_value=0 {feature}\n\
             leaf_count=1 3\ninternal_count=4\n\n"
        );
    }
    model.push_str("end of trees\n");
    let (file, items) = (folder.path().join("m.txt"), folder.path().join("i.jsonl"));
    std::fs::write(&file, model).expect("the folder is ours");
    (folder, Ranking::open(vec![plan(file, items)]))
}

#[test]
fn a_ranking_of_trees_allocates_at_most_twenty_times_explained_or_not() {
    let (_folder, ranking) = of_trees(5000);
    for body in [
        r#"{"user":{"affinity":{"3":0.75}},"limit":100}"#,
        r#"{"user":{"affinity":{"3":0.75}},"explain":true}"#,
        r#"{"candidates":["1","2","3","4444"],"explain":true}"#,
    ] {
        let count = of_body(&ranking, body);
        assert!(count <= 20, "{count} allocations for {body}");
    }
}

#[test]
fn a_recommendation_allocates_at_most_twenty_times() {
    let (_folder, ranking) = ranking(5000);
    let data = br#"{"affinity":{"b":0.6,"t":0.4},"reads":12,"recent":["12","55","9"]}"#;
    let profile = Profile::parse(data).unwrap();
    let decision = Decision::Personalised;
    let request = ModelRequest { decision, id: 1, ..ModelRequest::default() };
    let count = cost_of(|| {
        let mut reply = Vec::with_capacity(256);
        ranking.recommend("m", Some(&profile), &request, &mut reply).unwrap();
    });
    assert!(count <= 20, "{count} allocations");
}
