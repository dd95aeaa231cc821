//! Names, as models are trained with them.

use super::*;

fn feature(name: &str) -> ColumnSide {
    ColumnSide::Feature(FeatureName::parse(name).unwrap())
}

fn of_item(source: FeatureSource, name: &str, field: &str) -> ColumnSide {
    ColumnSide::OfItem { source, name: name.into(), field: field.into() }
}

#[test]
fn names_are_features_look_ups_and_products_of_them() {
    let affinity = of_item(FeatureSource::User, "affinity", "category");
    for (name, sides) in [
        ("item.price", vec![feature("item.price")]),
        ("item.stats.reads", vec![feature("item.stats.reads")]),
        ("item.category=b", vec![feature("item.category=b")]),
        ("item.title=a*b", vec![feature("item.title=a*b")]),
        ("item.title=a@item.b", vec![feature("item.title=a@item.b")]),
        ("user.affinity.b", vec![feature("user.affinity.b")]),
        ("user.affinity@item.category", vec![affinity.clone()]),
        ("context.hour@item.kind", vec![of_item(FeatureSource::Context, "hour", "kind")]),
        ("user.reads*item.price", vec![feature("user.reads"), feature("item.price")]),
        (
            "user.affinity@item.category*item.title=a*b*context.hour",
            vec![affinity, feature("item.title=a*b"), feature("context.hour")],
        ),
    ] {
        assert_eq!(ColumnName::parse(name), Ok(ColumnName { sides }), "{name}");
    }
}

#[test]
fn other_names_are_refused_with_the_reason() {
    for (name, reason) in [
        ("Column_0", "`Column_0` must start with `item.`, `user.` or `context.`"),
        ("", "`` must start with `item.`, `user.` or `context.`"),
        ("item.", "`item.` names no field"),
        ("f1*item.price", "`f1` must start with `item.`, `user.` or `context.`"),
        ("user.affinity@category", "`user.affinity@category` must go on with `item.` and a field"),
        ("item.kind@item.category", "`item.kind@item.category` must be a name of `user.` or"),
        ("user.affinity@item.", "`user.affinity@item.` must be a name of `user.` or `context.`"),
        ("user.affinity@item.kind=b", "`user.affinity@item.kind=b` must be a name of"),
    ] {
        let found = ColumnName::parse(name).unwrap_err();
        assert!(found.starts_with(reason), "{name}: {found}");
    }
}
