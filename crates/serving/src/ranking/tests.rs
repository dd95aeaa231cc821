//! Both ways to ask, good input and bad.

use exchange::Decision;
use serde_json::{Value, json};

use super::*;
use crate::config::GoldenPlan;
use crate::tests as fixture;

mod trees;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }
}

fn ranking(items: usize, change: impl FnOnce(&mut ModelPlan)) -> Ranking {
    let dir = fixture::dir(items);
    let mut plan = fixture::plan(dir.path());
    change(&mut plan);
    Ranking::open(vec![plan])
}

fn rank(ranking: &Ranking, body: impl AsRef<[u8]>) -> Result<Value, Refusal> {
    let mut out = Vec::new();
    let request = ModelRequest { body: body.as_ref(), id: 0xabc, ..ModelRequest::default() };
    match ranking.rank("news", &request, &mut out) {
        Ok(answer) => {
            let reply: Value = serde_json::from_slice(&out).expect("replies are JSON");
            let shown = answer.impression.expect("a ranking has an impression").items;
            let shown: Vec<Cow<'_, str>> = shown.iter().collect();
            assert_eq!(shown, ids(&reply), "the impression is what is shown, in order");
            Ok(reply)
        }
        Err(refusal) => {
            assert!(out.is_empty(), "a refusal writes nothing into the reply");
            Err(refusal)
        }
    }
}

fn ids(reply: &Value) -> Vec<&str> {
    reply["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

fn refused(ranking: &Ranking, body: &str) -> (u16, String) {
    let refusal = rank(ranking, body).unwrap_err();
    (refusal.status, refusal.reason)
}

#[test]
fn an_empty_body_ranks_everything_by_what_is_known() {
    let ranking = ranking(10, |_| ());
    let reply = rank(&ranking, "{}").unwrap();
    assert_eq!(
        reply,
        json!({"model": "news", "version": "1", "request_id": format!("{:032x}", 0xabc), "items": [
            {"id": "0", "title": "headline \"0\"", "category": "b", "popularity": 0.009765625,
             "score": 0.509765625},
            {"id": "1", "title": "headline \"1\"", "category": "t", "popularity": 0.0087890625,
             "score": 0.5087890625},
            {"id": "2", "title": "headline \"2\"", "category": "e", "popularity": 0.0078125,
             "score": 0.5078125}]})
    );
}

#[test]
fn fields_say_what_is_shown_of_an_item() {
    let ranking = ranking(10, |plan| plan.fields = Some(vec!["popularity".into()]));
    let reply = rank(&ranking, r#"{"limit":1}"#).unwrap();
    let shown = json!([{"id": "0", "popularity": 0.009765625, "score": 0.509765625}]);
    assert_eq!(reply["items"], shown);
}

#[test]
fn user_and_context_features_move_the_ranking() {
    let ranking = ranking(10, |_| ());
    let body = r#"{"context":{"hour":2},"limit":3,"user":{"country":"de","reads":0,
                   "affinity":{"b":0.25,"t":0.75},"name":{"first":"x","born":1980}}}"#;
    let reply = rank(&ranking, body).unwrap();
    assert_eq!(ids(&reply), ["1", "4", "7"]);
    let score = reply["items"][0]["score"].as_f64().unwrap();
    let expected = 0.5 + 9.0 / 1024.0 + 0.25 * 2.0 + 2.0 + 0.75 * 8.0;
    assert!((score - expected).abs() < 1e-6 * expected, "{score} for {expected}");
}

#[test]
fn candidates_come_listed_or_by_the_name_of_a_set() {
    let ranking = ranking(30, |_| ());
    let listed = rank(&ranking, r#"{"limit":9,"candidates":["7", 5 ,"\u0039"]}"#).unwrap();
    assert_eq!(ids(&listed), ["5", "7", "9"], "texts, numbers and escapes");
    assert_eq!(ids(&rank(&ranking, r#"{"candidates":"business"}"#).unwrap()), ["0", "3", "6"]);
    let top = rank(&ranking, r#"{"limit":9,"candidates":"top"}"#).unwrap();
    assert_eq!(ids(&top), ["0", "1", "2", "3"]);
    assert_eq!(ids(&rank(&ranking, r#"{"candidates":[]}"#).unwrap()), [""; 0]);
    assert_eq!(ids(&rank(&ranking, r#"{"candidates":null}"#).unwrap()), ["0", "1", "2"]);
}

#[test]
fn unknown_ids_are_listed_and_duplicates_ranked_once() {
    let ranking = ranking(10, |_| ());
    let body = r#"{"limit":9,"candidates":["3","x\"\u00e9","3",3,1e3,"","3x"]}"#;
    let reply = rank(&ranking, body).unwrap();
    assert_eq!(ids(&reply), ["3"]);
    assert_eq!(reply["unknown"], json!(["x\"é", "1e3", "", "3x"]));
    let none = rank(&ranking, r#"{"candidates":["3"]}"#).unwrap();
    assert!(none.get("unknown").is_none(), "given only when some are");
}

#[test]
fn excluded_and_recent_ids_are_left_out() {
    let ranking = ranking(10, |_| ());
    let body = r#"{"exclude":["0",2,"nobody"],"user":{"recent":["1",4]}}"#;
    assert_eq!(ids(&rank(&ranking, body).unwrap()), ["3", "5", "6"]);
    let again = self::ranking(10, |plan| plan.exclude_recent = false);
    assert_eq!(ids(&rank(&again, body).unwrap()), ["1", "3", "4"]);
}

#[test]
fn limit_zero_gives_an_empty_list() {
    let ranking = ranking(10, |_| ());
    assert_eq!(ids(&rank(&ranking, r#"{"limit":0}"#).unwrap()), [""; 0]);
}

#[test]
fn a_cap_per_category_makes_room_for_others() {
    let ranking = ranking(9, |plan| plan.per_category_max = Some(1));
    let reply = rank(&ranking, r#"{"user":{"affinity":{"b":1}}}"#).unwrap();
    assert_eq!(ids(&reply), ["0", "1", "2"]);
}

#[test]
fn contributions_sum_to_the_score() {
    let ranking = ranking(10, |_| ());
    let body = r#"{"explain":true,"user":{"affinity":{"b":0.5},"reads":4},"context":{"hour":3}}"#;
    for item in rank(&ranking, body).unwrap()["items"].as_array().unwrap() {
        let explained = item["explain"].as_object().unwrap();
        assert_eq!(explained.len(), 7, "intercept, three features, three crosses");
        let sum: f64 = explained.values().map(|value| value.as_f64().unwrap()).sum();
        assert!((sum - item["score"].as_f64().unwrap()).abs() < 1e-9);
    }
    let item = &rank(&ranking, body).unwrap()["items"][0];
    assert_eq!(item["explain"]["user.affinity.b * item.category=b"], 4.0);
}

#[test]
fn missing_and_null_features_take_missing_and_bad_ones_are_refused_with_their_place() {
    let ranking = ranking(10, |_| ());
    let plain = rank(&ranking, "{}").unwrap();
    let null = r#"{"user":{"reads":null,"affinity":null},"context":{"hour":null}}"#;
    assert_eq!(rank(&ranking, null).unwrap(), plain);
    for (body, message) in [
        (
            r#"{"user":{"reads":NaN}}"#,
            "malformed JSON at byte 17: `NaN` is not JSON; send null or leave it out",
        ),
        (r#"{"user":{"reads":1e999}}"#, "`user.reads` is not finite, at byte 17"),
        (
            r#"{"user":{"reads":"many"}}"#,
            "`user.reads` must be a number, as the model has it, at byte 17",
        ),
        (
            r#"{"user":{"country":49}}"#,
            "`user.country` must be a text, as the model has it, at byte 19",
        ),
        (
            r#"{"user":{"affinity":{"b":[1]}}}"#,
            "`user.affinity.b` is an array; features are no arrays, at byte 25",
        ),
        (r#"{"user":{"reads":1,"reads":2}}"#, "`user.reads` is given twice, at byte 27"),
        (r#"{"context":{"hour":true,"hour":2}}"#, "`context.hour` is given twice, at byte 31"),
        (
            r#"{"user":{"reads":1e305,"affinity":{"b":1e308}}}"#,
            "user and context features are too large to score",
        ),
    ] {
        assert_eq!(refused(&ranking, body), (400, message.to_owned()), "{body}");
    }
}

#[test]
fn wrong_shapes_are_refused_with_their_place() {
    let ranking = ranking(10, |_| ());
    for (body, message) in [
        ("", "malformed JSON at byte 0: expected `{`, the body ends"),
        ("[]", "malformed JSON at byte 0: expected `{`, found '['"),
        ("{\"candidates\":[,]}", "malformed JSON at byte 15: expected a value, found ','"),
        (
            r#"{"limt":3}"#,
            "`limt` is an unknown key; known are candidates, user, context, exclude, limit, \
             explain, at byte 1",
        ),
        (r#"{"limit":1,"limit":2}"#, "`limit` is given twice, at byte 11"),
        (r#"{"limit":-1}"#, "`limit` must be a whole number from 0 to 1000, at byte 9"),
        (r#"{"limit":1001}"#, "`limit` must be a whole number from 0 to 1000, at byte 9"),
        (r#"{"limit":2.5}"#, "`limit` must be a whole number from 0 to 1000, at byte 9"),
        (r#"{"limit":"3"}"#, "`limit` must be a whole number, at byte 9"),
        (r#"{"explain":1}"#, "`explain` must be true or false, at byte 11"),
        (r#"{"user":[]}"#, "`user` must be an object of features, at byte 8"),
        (
            r#"{"candidates":{}}"#,
            "`candidates` must be an array of ids or the name of a set, at byte 14",
        ),
        (r#"{"candidates":"none"}"#, "`none` is not a candidate set, at byte 14"),
        (
            r#"{"candidates":["1",true]}"#,
            "`candidates` holds an id that is no text and no number, at byte 19",
        ),
        (r#"{"exclude":"1"}"#, "`exclude` must be an array of ids, at byte 11"),
    ] {
        assert_eq!(refused(&ranking, body), (400, message.to_owned()), "{body}");
    }
}

#[test]
fn a_hundred_thousand_candidates_are_ranked_and_one_more_is_refused() {
    let ranking = ranking(700, |_| ());
    let body = |count: usize| {
        let listed: Vec<String> = (0..count).map(|id| format!("\"{id}\"")).collect();
        format!("{{\"candidates\":[{}]}}", listed.join(","))
    };
    let reply = rank(&ranking, body(100_000)).unwrap();
    assert_eq!(ids(&reply), ["0", "1", "2"]);
    assert_eq!(reply["unknown"].as_array().unwrap().len(), 99_300);
    let (status, message) = refused(&ranking, &body(100_001));
    assert_eq!(status, 413);
    assert!(
        message.starts_with("`candidates` holds more than 100000 ids, at byte 788"),
        "{message}"
    );
}

#[test]
fn a_body_cut_anywhere_is_refused_at_a_byte_within_it() {
    let ranking = ranking(50, |_| ());
    let body =
        r#" {"candidates":["17","\u0031\ud83d\ude00",3e2],"user":{"affinity":{"b":0.6,"é":-1.5e3},
        "recent":["4"],"country":"d\"e"},"context":{"hour":9},"exclude":[true],"explain":false}"#
            .replace("[true]", "[\"3\"]");
    assert!(rank(&ranking, &body).is_ok());
    for cut in 0..body.len() {
        let refusal = rank(&ranking, &body.as_bytes()[..cut]).unwrap_err();
        assert_eq!(refusal.status, 400, "cut at {cut}");
        assert!(refusal.position.unwrap() <= cut, "cut at {cut}: {refusal}");
    }
}

#[test]
fn bodies_with_random_damage_never_panic() {
    let ranking = ranking(50, |_| ());
    let body =
        br#"{"candidates":["17","18",3],"user":{"affinity":{"b":0.6},"reads":12,"country":"de",
        "recent":["4"]},"context":{"hour":9},"exclude":["3"],"limit":10,"explain":true}"#;
    let mut random = Random(5);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..30_000 {
        let mut damaged = body.to_vec();
        for _ in 0..1 + random.below(4) {
            let at = random.below(damaged.len());
            match random.below(4) {
                0 => damaged[at] = random.below(256) as u8,
                1 => damaged.truncate(at.max(1)),
                2 => damaged.insert(at, b"\"\\{}[],:0e-.9"[random.below(13)]),
                _ => drop(damaged.remove(at)),
            }
            if damaged.is_empty() {
                damaged.push(b'{');
            }
        }
        match rank(&ranking, &damaged) {
            Ok(_) => good += 1,
            Err(refusal) => {
                assert_eq!(refusal.status, 400, "{refusal}");
                bad += 1;
            }
        }
    }
    assert!(good > 100 && bad > 100, "{good} accepted, {bad} refused");
}

#[test]
fn no_such_model_is_404_and_none_loaded_yet_503() {
    let ranking = ranking(10, |plan| plan.file = "/nowhere/model.json".into());
    let mut out = Vec::new();
    let request = ModelRequest { body: b"{}", ..ModelRequest::default() };
    let refusal = ranking.rank("other", &request, &mut out).unwrap_err();
    assert_eq!(
        (refusal.status, refusal.reason.as_str()),
        (404, "no model `other`; there is `news`")
    );
    assert_eq!(rank(&ranking, "{}").unwrap_err().status, 503);
    let status = &ranking.status()[0];
    assert!(status.version.is_none() && status.file.as_ref().unwrap().problem.is_some());
}

fn recommend(ranking: &Ranking, profile: Option<&str>, query: &str) -> Result<Value, Refusal> {
    let profile = profile.map(|data| Profile::parse(data.as_bytes()).unwrap());
    let mut out = b"before".to_vec();
    let decision = Decision::Personalised;
    let request = ModelRequest { query, decision, id: 0xff, ..ModelRequest::default() };
    let answer = ranking.recommend("news", profile.as_ref(), &request, &mut out)?;
    let body = out.strip_prefix(b"before").unwrap();
    let reply: Value = serde_json::from_slice(body).unwrap();
    let impression = answer.impression.unwrap();
    assert_eq!(impression.items.iter().collect::<Vec<_>>(), ids(&reply));
    assert_eq!((&*impression.model, &*impression.version), ("news", "1"));
    assert_eq!(impression.propensity, 1.0);
    assert_eq!(&body[answer.decision_at.unwrap()], b"personalised");
    Ok(reply)
}

#[test]
fn a_reader_with_a_profile_gets_another_list_than_an_anonymous_one() {
    let ranking = ranking(30, |_| ());
    let anonymous = recommend(&ranking, None, "").unwrap();
    assert_eq!(ids(&anonymous), ["0", "1", "2"]);
    assert_eq!(
        (&anonymous["request_id"], &anonymous["decision"]),
        (&json!(format!("{:032x}", 0xff)), &json!("personalised"))
    );
    let profile = r#"{"affinity":{"t":0.9,"b":0.1},"reads":5,"recent":["4","gone",1]}"#;
    let reader = recommend(&ranking, Some(profile), "").unwrap();
    assert_eq!(ids(&reader), ["7", "10", "13"], "category t without what was read");
}

#[test]
fn a_profile_without_an_affinity_that_the_model_reads_is_said() {
    let detail = |file: &str, profile: Option<&str>| {
        let ranking = match file {
            "" => ranking(9, |_| ()),
            trees => trees::of_trees(trees, |_| ()),
        };
        let profile = profile.map(|data| Profile::parse(data.as_bytes()).unwrap());
        let request = ModelRequest::default();
        ranking.recommend("news", profile.as_ref(), &request, &mut Vec::new()).unwrap().detail
    };
    for file in ["", fixture::TREES] {
        assert_eq!(detail(file, Some(r#"{"affinity":{"b":0.1}}"#)), "");
        assert_eq!(detail(file, Some(r#"{"affinity":{"unheard":1},"reads":9}"#)), "no-affinity");
        assert_eq!(detail(file, Some("{}")), "no-affinity");
        assert_eq!(detail(file, None), "", "without a profile there is nothing to lack");
    }
    let indifferent = fixture::TREES.replace("user.affinity@item.category", "user.reads");
    assert_eq!(detail(&indifferent, Some("{}")), "", "the model reads no affinity");
}

#[test]
fn a_recommendation_takes_limit_category_and_explain() {
    let ranking = ranking(30, |plan| plan.candidates_default = Some(1));
    let reply = recommend(&ranking, None, "limit=2&explain=1").unwrap();
    assert_eq!(ids(&reply), ["0", "1"]);
    assert_eq!(reply["items"][0]["explain"]["intercept"], 0.5);
    let of_set = recommend(&ranking, None, "category=%62").unwrap();
    assert_eq!(ids(&of_set), ["0", "3"], "of the set");
    assert_eq!(ids(&recommend(&ranking, None, "category=x").unwrap()), [""; 0]);
    let refusal = recommend(&ranking, None, "limit=many").unwrap_err();
    assert_eq!(refusal.reason, "`limit` must be a whole number from 0 to 1000");
}

#[test]
fn features_of_the_moment_come_by_the_query_too() {
    let ranking = ranking(30, |_| ());
    let first = |query: &str| {
        let reply = recommend(&ranking, None, query).unwrap();
        reply["items"][0]["explain"].clone()
    };
    let by_body = |body: &str| {
        let reply = rank(&ranking, body).unwrap();
        reply["items"][0]["explain"].clone()
    };
    let body = r#"{"explain":true,"context":{"hour":3}}"#;
    assert_eq!(first("explain=1&context.hour=3"), by_body(body));
    assert_eq!(first("context%2Ehour=3&explain=1"), by_body(body));
    assert_ne!(first("explain=1"), by_body(body));
    assert_eq!(first("explain=1&context.unheard=x"), first("explain=1"));
    for (query, reason) in [
        ("context.hour=late", "`context.hour` must be a number, as the model has it"),
        ("context.hour=1&context.hour=2", "`context.hour` is given twice"),
    ] {
        let refusal = recommend(&ranking, None, query).unwrap_err();
        assert_eq!((refusal.status, refusal.reason.as_ref()), (400, reason));
    }
}

#[test]
fn a_profile_with_absurd_numbers_counts_as_none() {
    let ranking = ranking(10, |_| ());
    let profile = r#"{"affinity":{"b":1e308},"reads":1e308,"country":3}"#;
    let reply = recommend(&ranking, Some(profile), "").unwrap();
    assert_eq!(reply, recommend(&ranking, None, "").unwrap());
}

#[test]
fn cost_grows_with_candidates_and_body() {
    let ranking = ranking(500, |_| ());
    assert!(ranking.cost("news", Some(100_000)) > Duration::from_micros(200));
    assert!(ranking.cost("news", None) < Duration::from_micros(50));
    assert_eq!(ranking.cost("news", None), ranking.cost("news", Some(500)));
    assert!(ranking.body_cost("news", &[b' '; 1_000_000]) > Duration::from_millis(1));
    assert_eq!(ranking.cost("other", None), Duration::ZERO);
}
