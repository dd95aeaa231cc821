//! Writes a report of a trace as lines of JSON, each with its `kind`.

use serde::Serialize;

use super::report::StraceReport;

impl StraceReport {
    /// Returns everything as lines of JSON, each with its `kind`.
    pub fn to_ndjson(&self) -> String {
        fn line<T: Serialize>(out: &mut String, kind: &str, value: &T) {
            let mut value = serde_json::to_value(value).unwrap_or_default();
            if let Some(members) = value.as_object_mut() {
                members.insert("kind".to_owned(), kind.into());
            }
            *out += &format!("{value}\n");
        }
        let mut out = String::new();
        line(&mut out, "counts", &self.counts);
        self.requests.iter().for_each(|it| line(&mut out, "requests", it));
        for finding in self.findings() {
            line(&mut out, "finding", &serde_json::json!({ "text": finding }));
        }
        self.on_path.iter().for_each(|it| line(&mut out, "on_path", it));
        self.syscalls.iter().for_each(|it| line(&mut out, "syscall", it));
        self.waits.iter().for_each(|it| line(&mut out, "wait", it));
        self.files.iter().for_each(|it| line(&mut out, "file", it));
        self.children.iter().for_each(|it| line(&mut out, "children", it));
        self.stacks.iter().for_each(|it| line(&mut out, "stack", it));
        out
    }
}
