//! Policies by name, or as JSON.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::context::{Policy, Profile, Request};

/// The policies that have a name.
pub(super) const PRESETS: [&str; 3] = ["sliding_window", "compact_with_summary", "selective_retention"];

/// A policy, and what of it follows from the request.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    policy: Policy,
    has_profile: bool,
    has_output: bool,
}

/// The fields of a policy that a request says as well.
#[derive(Deserialize)]
struct Said {
    profile: Option<IgnoredAny>,
    output: Option<IgnoredAny>,
}

/// Whether a text names a preset, whatever its number is.
pub(super) fn is_preset(text: &str) -> bool {
    PRESETS.contains(&text.split('=').next().unwrap_or_default())
}

impl Chosen {
    /// Reads a preset (`sliding_window=20`), or a policy as JSON; otherwise why it is none.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if is_preset(text) {
            return Ok(Self { policy: preset(text)?, has_profile: false, has_output: false });
        }
        let policy = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let said: Said = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(Self { policy, has_profile: said.profile.is_some(), has_output: said.output.is_some() })
    }

    /// Reads what stands in `policy` on a line: an object, or a string that names a preset.
    pub(super) fn read_json(json: &str) -> Result<Self, String> {
        match serde_json::from_str::<String>(json) {
            Ok(name) if !is_preset(&name) => {
                Err(format!("`{name}` is none of {}, and no object", PRESETS.join(", ")))
            }
            Ok(name) => Self::read(&name),
            Err(_) => Self::read(json),
        }
    }

    /// The policy for a request, and for a model whatever the request says.
    pub(super) fn policy_for(&self, request: &Request, model: Option<&str>) -> Policy {
        let mut policy = self.policy.clone();
        if !self.has_profile {
            policy.profile = model.map_or_else(|| request.profile(), Profile::of);
        }
        let most = request.field("max_tokens").and_then(|tokens| serde_json::from_str(tokens).ok());
        if let (Some(tokens), false) = (most, self.has_output) {
            policy.output = tokens;
        }
        policy
    }
}

fn preset(text: &str) -> Result<Policy, String> {
    let (name, number) = text.split_once('=').map_or((text, None), |(name, number)| (name, Some(number)));
    let number = |usual: u64| match number {
        None => Ok(usual),
        Some(number) => match number.parse() {
            Ok(0) | Err(_) => Err(format!("`{number}` is no number that {name} can have")),
            Ok(number) => Ok(number),
        },
    };
    Ok(match name {
        "sliding_window" => Policy::sliding_window(usize::try_from(number(20)?).unwrap_or(usize::MAX)),
        "compact_with_summary" => Policy::compact_with_summary(number(15_000)?),
        _ => Policy::selective_retention(number(50_000)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_their_usual_numbers() {
        for (text, policy) in [
            ("sliding_window", Policy::sliding_window(20)),
            ("sliding_window=6", Policy::sliding_window(6)),
            ("compact_with_summary", Policy::compact_with_summary(15_000)),
            ("compact_with_summary=900", Policy::compact_with_summary(900)),
            ("selective_retention", Policy::selective_retention(50_000)),
            ("selective_retention=4000", Policy::selective_retention(4_000)),
        ] {
            assert_eq!(Chosen::read(text).unwrap().policy, policy, "{text}");
            assert_eq!(Chosen::read_json(&format!("\"{text}\"")).unwrap().policy, policy, "{text}");
        }
        for text in
            ["sliding_window=", "sliding_window=0", "sliding_window=-1", "sliding_window=1=2", "window"]
        {
            assert!(Chosen::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_request_says_what_a_policy_leaves_open() {
        let request = r#"{"model":"claude-opus-4-5","max_tokens":77,"messages":[]}"#;
        let request = Request::from_json(request).unwrap();
        let list = Request::from_json("[]").unwrap();
        let open = Chosen::read("sliding_window").unwrap();
        let policy = open.policy_for(&request, None);
        assert_eq!((policy.profile, policy.output), (Profile::of("claude-opus-4-5"), 77));
        assert_eq!(open.policy_for(&request, Some("claude-opus-5")).profile, Profile::of("claude-opus-5"));
        assert_eq!(open.policy_for(&list, None), Policy::sliding_window(20));

        let all = Policy { output: 5, ..Policy::sliding_window(3).for_model("claude-sonnet-5") };
        let said = Chosen::read(&serde_json::to_string(&all).unwrap()).unwrap();
        assert_eq!(said.policy_for(&request, Some("claude-opus-5")), all);
    }
}
