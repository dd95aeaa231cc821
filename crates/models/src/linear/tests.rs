//! The model file: what is read, and every way it is refused.

use super::*;

fn problems(text: &str) -> Vec<String> {
    match Linear::parse(text.as_bytes()) {
        Ok(model) => panic!("accepted: {model:?}"),
        Err(Error::Model(problems)) => problems.iter().map(ToString::to_string).collect(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn optional_keys_take_their_defaults() {
    let model = Linear::parse(
        br#"{"format":"tidegate-linear-1","name":"news","version":"7",
            "features":[{"name":"item.popularity","weight":0.5,"mean":0.25}],
            "crosses":[{"left":"user.affinity.b","right":"item.category=b","weight":2}]}"#,
    )
    .unwrap();
    assert_eq!((model.link, model.intercept), (LinkFunction::Identity, 0.0));
    assert_eq!(model.features[0].scale, 1.0);
    assert_eq!(model.features[0].missing, 0.25, "missing is the mean by default");
    assert_eq!((model.crosses[0].mean, model.crosses[0].scale), (0.0, 1.0));
    assert_eq!(model.crosses[0].right.equals.as_deref(), Some("b"));
    assert_eq!(model.crosses[0].left.field, "affinity.b");
}

#[test]
fn a_dozen_mistakes_are_reported_at_once() {
    let found = problems(
        r#"{"format":"tidegate-linear-2","name":"","link":"probit","intercept":"x","extra":1,
            "features":[{"name":"item.a","weight":1,"scale":0},
                        {"name":"item.a","weight":1},
                        {"name":"movie.b","weight":1},
                        {"name":"user.","weight":1},
                        {"name":"item.c","wieght":1},
                        7],
            "crosses":[{"left":"user.x","right":"item.y","weight":1},
                       {"left":"item.y","right":"user.x","weight":1},
                       {"left":"user.x","weight":null}]}"#,
    );
    for expected in [
        "model: unknown key `extra`",
        "`format`: is `tidegate-linear-2`",
        "`name`: must be a non-empty text",
        "`version`: is missing",
        "`link`: must be `identity` or `logistic`",
        "`intercept`: must be a finite number",
        "`features[0].scale`: is 0",
        "features[1]: feature `item.a` is given twice",
        "`features[2].name`: `movie.b` must start with",
        "`features[3].name`: `user.` names no field",
        "features[4]: unknown key `wieght`",
        "`features[4].weight`: is missing",
        "features[5]: must be an object",
        "crosses[1]: cross of `item.y` and `user.x` is given twice",
        "`crosses[2].right`: is missing",
        "`crosses[2].weight`: must be a finite number",
    ] {
        assert!(found.iter().any(|p| p.starts_with(expected)), "{expected}\nin {found:#?}");
    }
    assert_eq!(found.len(), 16, "{found:#?}");
}

#[test]
fn a_field_cannot_be_number_and_text() {
    let found = problems(
        r#"{"format":"tidegate-linear-1","name":"m","version":"1",
            "features":[{"name":"item.c","weight":1},{"name":"item.c=b","weight":1}]}"#,
    );
    assert_eq!(found, ["`item.c`: is used as a number and as a text"]);
}

#[test]
fn infinite_numbers_are_refused() {
    let text = r#"{"format":"tidegate-linear-1","name":"m","version":"1","intercept":1e999}"#;
    assert!(problems(text)[0].contains("out of range"), "{:?}", problems(text));
}

#[test]
fn logistic_link_is_finite_at_both_ends() {
    assert_eq!(LinkFunction::Logistic.apply(-1e6), 0.0);
    assert_eq!(LinkFunction::Logistic.apply(1e6), 1.0);
    assert_eq!(LinkFunction::Logistic.apply(0.0), 0.5);
}
