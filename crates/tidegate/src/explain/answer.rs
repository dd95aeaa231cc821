//! The answer to a question: the gateway's explanation, the user's profile, and the ranking in
//! parts.
//!
//! Invariant: a ranking is that of the model that serves, asked as the gateway would ask it, with
//! `explain=1`. It is made for requests that a model answers, from a memory entry or not.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use exchange::{Decision, ModelRequest};
use gateway::{ExplainRequest, Explanation, Gateway};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serving::Models;

/// What knows the answer.
#[derive(Clone, Copy)]
pub(crate) struct Explainer<'e> {
    pub gateway: &'e Gateway,
    pub models: &'e Models,
    pub profiles: Option<&'e profiles::Profiles>,
    /// Where clients come in; it is the host of a question that names none.
    pub public: SocketAddr,
    /// Where this stands: a server, or files alone.
    pub known_from: KnownFrom,
}

/// Where an answer is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KnownFrom {
    /// A running server.
    Server,
    /// Files alone: nothing is known of caches, of the health of upstreams, and of brakes.
    Files,
}

/// What a request gets, and why.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub known_from: KnownFrom,
    #[serde(flatten)]
    pub explanation: Explanation,
    /// What is known of the user.
    pub profile: Option<ProfileFacts>,
    /// What the model answers, with each score in parts.
    pub ranking: Option<Value>,
}

/// What is known of a user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProfileFacts {
    /// Each number of the profile by its name, in the order of the file.
    pub features: Vec<(String, f64)>,
    /// Each text of the profile by its name.
    pub texts: Vec<(String, String)>,
    /// The items last read; a ranking leaves them out.
    pub recent: Vec<String>,
}

impl Explainer<'_> {
    /// Answers a question.
    ///
    /// # Errors
    /// With a message when the question is no request.
    pub(crate) fn answer(&self, question: &ExplainRequest) -> Result<Answer, String> {
        let mut question = question.clone();
        if question.url.starts_with('/') {
            question.url = format!("http://{}{}", here(self.public), question.url);
        }
        let mut explanation = self.gateway.explain(&question)?;
        let user = explanation.user.as_ref().and_then(|user| user.id.clone());
        let found = user.as_ref().zip(self.profiles);
        let found = found.and_then(|(user, profiles)| profiles.data(user.as_bytes()));
        let profile = found.map(|profile| ProfileFacts {
            features: profile.features().map(|(name, value)| (name.to_owned(), value)).collect(),
            texts: profile.texts().map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
            recent: profile.recent().map(str::to_owned).collect(),
        });
        let ranking = self.ranking(&explanation, user.as_deref());
        let is_private = explanation.decision == Decision::Personalised.name();
        let refusal = ranking.as_ref().filter(|ranking| {
            ranking["status"].as_u64().is_some_and(|it| it >= explanation.fallback_from.into())
        });
        let reason = refusal.and_then(|refusal| refusal["error"].as_str());
        if let Some(reason) = reason.filter(|_| is_private) {
            question.falls_back = true;
            explanation = self.gateway.explain(&question)?;
            explanation.decided_by = format!("the model refuses: {reason}");
        }
        Ok(Answer { known_from: self.known_from, explanation, profile, ranking })
    }

    fn ranking(&self, explanation: &Explanation, user: Option<&str>) -> Option<Value> {
        let model = explanation.target_name.strip_prefix("model:")?;
        let decision = Decision::from_name(&explanation.decision)?;
        let (path, query) = explanation.target.split_once('?').unwrap_or((&explanation.target, ""));
        let separator = if query.is_empty() { "" } else { "&" };
        let request = ModelRequest {
            model: Some(model),
            method: "GET",
            path,
            query: &format!("{query}{separator}explain=1"),
            user: user.filter(|_| decision == Decision::Personalised).map(str::as_bytes),
            decision,
            ..ModelRequest::default()
        };
        let mut out = Vec::new();
        Some(match self.models.answer(&request, &mut out) {
            Ok(_) => serde_json::from_slice(&out).ok()?,
            Err(refusal) => {
                serde_json::json!({ "error": refusal.reason, "status": refusal.status })
            }
        })
    }
}

/// The address by which a client on this machine comes in.
fn here(mut public: SocketAddr) -> SocketAddr {
    if public.ip().is_unspecified() {
        public.set_ip(match public {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    public
}
