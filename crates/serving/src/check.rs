//! Checks the files of models that rank, for `tidegate config check`.
//!
//! A configuration may be right while a file that it names cannot serve: then a server starts, and
//! answers 503 until the file is good. Who asks beforehand is told.
//! Invariant: what is wrong here is what the server says of the same files, and a file that is not
//! there is no mistake. A problem has the dotted key that names its file.
//! Never here: the configuration itself (`config.rs`), and whose fault an error is
//! (`ranking/files.rs`).

use std::collections::BTreeSet;

use stdx::Chain;

use crate::config::{ModelConfig, ModelPlans};
use crate::ranking;

/// What profiles are known to have.
#[derive(Debug, Clone)]
pub enum ProfileNames {
    /// Nothing is known.
    Unknown,
    /// What Tidegate builds.
    Built,
    /// These names of numbers and texts, in a file that another program made.
    Found(BTreeSet<String>),
}

/// Reads the files of models that rank, where they are there. Each problem is handed to `wrong`
/// with its dotted key (`model[0].file`); `models` are those that the plans were made of. Returns
/// what is worth a look, in a line each: also features that profiles lack.
pub fn check_files(
    models: &[ModelConfig],
    plans: &ModelPlans,
    profiles: &ProfileNames,
    wrong: &mut dyn FnMut(&str, String),
) -> Vec<String> {
    let mut notes = Vec::new();
    for plan in &plans.rankers {
        let at = models.iter().position(|model| model.name.as_ref() == Some(&plan.name));
        let (errors, absent) = ranking::check(plan);
        let (name, items) = (&plan.name, plan.items.display());
        for field in absent.of_items {
            notes.push(format!("model `{name}` reads `item.{field}`; no item of `{items}` has it"));
        }
        for field in &absent.of_users {
            let reason = match profiles {
                ProfileNames::Built => {
                    "profiles that Tidegate builds have `affinity.…` and `reads` alone"
                }
                ProfileNames::Found(names) if !names.contains(field) => {
                    "no profile that was looked at has it"
                }
                ProfileNames::Found(_) | ProfileNames::Unknown => continue,
            };
            notes.push(format!("model `{name}` reads `user.{field}`; {reason}"));
        }
        for (key, error) in errors {
            let key = format!("model[{}].{key}", at.unwrap_or_default());
            wrong(&key, Chain(&error).to_string());
        }
    }
    notes
}
