//! Decides which API a path belongs to, and by which method it is asked.
//!
//! Invariant: looking at a path allocates nothing; only a refusal does. HEAD counts as GET. What
//! stands under `/v1/models/` is a ranking or nothing.
//! A new `Api` has arms in `of`, `method` and `router.rs`, whose `is_queued` takes an unknown path
//! for a ranking.
//! Elsewhere: paths of the protocol (`oip.rs`) and of texts (`text_paths.rs`), whether a model of
//! that name exists (`router.rs`).

use exchange::Refusal;

use crate::oip::OipEndpoint;
use crate::refusal;
use crate::text_paths::method_of;

/// What a path asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api<'p> {
    Rank(&'p str),
    Oip(OipEndpoint<'p>),
    /// One of the paths of `text_paths.rs`, by its method.
    Texts(&'static str),
    Names,
    Document,
    Page,
}

impl<'p> Api<'p> {
    pub(super) fn of(path: &'p str) -> Option<Self> {
        if let Some(rest) = path.strip_prefix("/v1/models/") {
            let name = rest.strip_suffix("/rank")?;
            return (!name.is_empty() && !name.contains('/')).then_some(Self::Rank(name));
        }
        match path {
            "/v1/models" => Some(Self::Names),
            "/openapi.json" => Some(Self::Document),
            "/docs" => Some(Self::Page),
            // As text-embeddings-inference has it; its answer says as little as its status.
            "/health" => Some(Self::Oip(OipEndpoint::Ready)),
            _ => match method_of(path) {
                Some(method) => Some(Self::Texts(method)),
                None => OipEndpoint::of(path).map(Self::Oip),
            },
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Rank(_) => "POST",
            Self::Oip(asked) => asked.method(),
            Self::Texts(method) => method,
            Self::Names | Self::Document | Self::Page => "GET",
        }
    }

    /// Reads a path and checks the method that comes with it.
    pub(super) fn asked(method: &str, path: &'p str) -> Result<Self, Refusal> {
        let unknown =
            || format!("no API of models has the path `{path}`; `GET /docs` tells what is");
        let api = Self::of(path).ok_or_else(|| Refusal::new(404, unknown()))?;
        let wanted = api.method();
        let fits = method == wanted || (method == "HEAD" && wanted == "GET");
        match fits {
            true => Ok(api),
            false => Err(refusal::method(wanted)),
        }
    }
}
