//! Request features by name.

use super::*;

fn inputs() -> Inputs {
    let model = Linear::parse(
        br#"{"format":"tidegate-linear-1","name":"m","version":"1","features":[
            {"name":"user.reads","weight":1,"mean":5},{"name":"user.country=de","weight":1},
            {"name":"user.country=fr","weight":1},{"name":"context.hour","weight":1,"missing":12},
            {"name":"item.p","weight":1}]}"#,
    )
    .unwrap();
    Inputs::of(&model)
}

fn slots(inputs: &Inputs) -> Vec<f64> {
    let mut slots = Vec::new();
    inputs.clear(&mut slots);
    slots
}

#[test]
fn absent_and_nan_take_missing() {
    let inputs = inputs();
    let mut slots = slots(&inputs);
    assert_eq!(inputs.len(), 4, "items bring none");
    inputs.set_number(FeatureSource::User, "reads", f64::NAN, &mut slots).unwrap();
    let values: Vec<f64> = (0..4).map(|slot| inputs.value(&slots, slot)).collect();
    assert_eq!(values, [5.0, 0.0, 0.0, 12.0]);
}

#[test]
fn a_text_sets_all_its_one_hot_slots() {
    let inputs = inputs();
    let mut slots = slots(&inputs);
    inputs.set_text(FeatureSource::User, "country", "fr", &mut slots).unwrap();
    assert_eq!(slots[1..3], [0.0, 1.0]);
    let twice = inputs.set_text(FeatureSource::User, "country", "de", &mut slots);
    assert_eq!(twice, Err(RequestError::Twice));
}

#[test]
fn wrong_kinds_and_infinities_are_refused_and_unread_names_ignored() {
    let inputs = inputs();
    let mut slots = slots(&inputs);
    let mut number = |source, field, value| inputs.set_number(source, field, value, &mut slots);
    assert_eq!(number(FeatureSource::User, "reads", f64::INFINITY), Err(RequestError::Infinite));
    assert_eq!(number(FeatureSource::User, "country", 1.0), Err(RequestError::WantsText));
    assert_eq!(number(FeatureSource::Context, "reads", 1.0), Ok(()), "another source's field");
    assert_eq!(number(FeatureSource::User, "shoe_size", 44.0), Ok(()));
    let text = inputs.set_text(FeatureSource::User, "reads", "many", &mut slots);
    assert_eq!(text, Err(RequestError::WantsNumber));
    assert!(slots.iter().all(|slot| slot.is_nan()));
}
