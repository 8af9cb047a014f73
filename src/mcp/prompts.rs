//! Prompts that a person may choose: what is known, tidying up, handing over.

use std::borrow::Cow;

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

use super::resources::refused;
use crate::error::Result;
use crate::path::MemoryPath;
use crate::recall::{Prefetch, Recall};
use crate::store::Look;
use crate::text::echo;

const BOOTSTRAP: &str = include_str!("prompts/bootstrap.txt");
const EMPTY: &str = include_str!("prompts/empty.txt");
const CONSOLIDATE: &str = include_str!("prompts/consolidate.txt");
const HANDOVER: &str = include_str!("prompts/handover.txt");

/// Tokens of memories that may be asked for: under this there is no room for one, and over that the host has none.
const BUDGETS: std::ops::RangeInclusive<usize> = 100..=100_000;
/// The line of a memory has hardly fewer tokens: more memories than that leaves room for are not looked for.
const LEAST_TOKENS: usize = 8;
/// How what is told ends where it is not all.
const MORE: &str = "There may be even more: memory_retrieve finds it by a question, and a view of /memories lists all files.\n";
/// Bytes of an argument.
const LONGEST: usize = 2000;

/// A prompt, and the names and descriptions of its arguments, none of which is required.
struct Known {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [(&'static str, &'static str)],
    fill: fn(&Recall, &Arguments) -> Result<String, ErrorData>,
}

const ALL: &[Known] = &[
    Known {
        name: "memory_bootstrap",
        title: "What the memory knows",
        description: "Tells what is known from earlier sessions, the most important first, within a budget of tokens.",
        arguments: &[
            (
                "topic",
                "What the session will be about, in your words; without it the newest and most important is told",
            ),
            ("budget", "About so many tokens of memories at most, 100 to 100000; without it 2000"),
        ],
        fill: bootstrap,
    },
    Known {
        name: "memory_consolidate",
        title: "Put the memory in order",
        description: "Has the model view the memory, merge and shorten what is in it, and drop what is stale.",
        arguments: &[("path", "The file or directory to put in order; without it all of /memories")],
        fill: consolidate,
    },
    Known {
        name: "memory_handover",
        title: "Hand over to the next session",
        description: "Has the model write down what was done, what was decided and what is left, before the conversation ends.",
        arguments: &[("topic", "What to hand over; without it all that this conversation was about")],
        fill: handover,
    },
];

/// All prompts.
pub(super) fn all() -> Vec<Prompt> {
    let argument = |&(name, description): &(&str, &str)| {
        PromptArgument::new(name).with_description(description).with_required(false)
    };
    let prompt = |known: &Known| {
        let arguments = known.arguments.iter().map(argument).collect();
        Prompt::new(known.name, Some(known.description), Some(arguments)).with_title(known.title)
    };
    ALL.iter().map(prompt).collect()
}

/// One prompt, filled in.
pub(super) fn get(recall: &Recall, request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let Some(known) = ALL.iter().find(|known| known.name == request.name) else {
        let names: Vec<_> = ALL.iter().map(|known| known.name).collect();
        return Err(wrong(format!(
            "Unknown prompt: {}. The prompts are {}",
            echo(&request.name),
            names.join(", ")
        )));
    };
    let arguments = Arguments::read(known, request.arguments.as_ref())?;
    let text = (known.fill)(recall, &arguments)?;
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(known.description))
}

/// What is known, of a topic if there is one, as a model is told it: as much as about so many tokens hold. Empty where
/// there is nothing to tell.
pub(crate) fn known(recall: &Recall, topic: Option<String>, budget: usize) -> Result<String> {
    let limit = budget.div_ceil(LEAST_TOKENS);
    let told = recall.prefetch(&Prefetch { query: topic, limit, budget, ..Prefetch::default() })?;
    if told.is_empty() {
        return Ok(told);
    }
    // The line of a memory begins otherwise.
    let is_all = told.lines().all(|line| !line.starts_with('…'));
    Ok(format!("{BOOTSTRAP}\n{told}{}", if is_all { "" } else { MORE }))
}

fn bootstrap(recall: &Recall, arguments: &Arguments) -> Result<String, ErrorData> {
    let (topic, budget) = (arguments.get("topic"), arguments.get("budget"));
    // Claude Code gives each argument one word of what was typed: what is no number is the topic's second.
    let is_number = |text: &str| text.trim().parse::<f64>().is_ok_and(f64::is_finite);
    let (word, budget) = match budget {
        Some(budget) if !is_number(budget) => (Some(budget), None),
        _ => (None, budget),
    };
    let words: Vec<&str> = topic.into_iter().chain(word).collect();
    let topic = (!words.is_empty()).then(|| words.join(" "));
    let budget = budget.map_or(Ok(Prefetch::default().budget), tokens)?;
    let text = known(recall, topic, budget).map_err(|error| refused(&error))?;
    Ok(if text.is_empty() { EMPTY.to_owned() } else { text })
}

/// Reads a number of tokens.
fn tokens(text: &str) -> Result<usize, ErrorData> {
    text.trim().parse().ok().filter(|tokens| BUDGETS.contains(tokens)).ok_or_else(|| {
        let (least, most) = (BUDGETS.start(), BUDGETS.end());
        wrong(format!(
            "budget must be a whole number of tokens from {least} to {most}; it is \"{}\"",
            echo(text)
        ))
    })
}

fn consolidate(recall: &Recall, arguments: &Arguments) -> Result<String, ErrorData> {
    let path = match arguments.get("path") {
        None => MemoryPath::ROOT,
        Some(text) => {
            let whole =
                if text.starts_with('/') { Cow::from(text) } else { format!("/memories/{text}").into() };
            let path = MemoryPath::parse(&whole);
            path.map_err(|why| {
                wrong(format!("path must be one below /memories; of \"{}\": {why}", echo(text)))
            })?
        }
    };
    let look = recall.store_handle().look(&path).map_err(|error| refused(&error))?;
    if !path.is_root() && !matches!(look, Look::File { .. } | Look::Directory) {
        return Err(wrong(format!("path must be that of a file or directory; there is none at {path}")));
    }
    Ok(CONSOLIDATE.replace("{path}", &path.to_string()))
}

#[allow(clippy::unnecessary_wraps, reason = "the others may fail")]
fn handover(_recall: &Recall, arguments: &Arguments) -> Result<String, ErrorData> {
    let topic = arguments.get("topic").map(|topic| format!(" about {}", topic.trim())).unwrap_or_default();
    Ok(HANDOVER.replace("{topic}", &topic))
}

/// What a person filled in; hosts send an empty text for what was left out.
struct Arguments(Vec<(&'static str, String)>);

impl Arguments {
    fn read(known: &Known, given: Option<&JsonObject>) -> Result<Self, ErrorData> {
        let mut read = Vec::new();
        for (name, value) in given.into_iter().flatten() {
            let Some((name, _)) = known.arguments.iter().find(|(known, _)| known == name) else {
                let names: Vec<_> = known.arguments.iter().map(|(name, _)| *name).collect();
                let words =
                    format!("{} takes {}, and no \"{}\"", known.name, names.join(" and "), echo(name));
                return Err(wrong(words));
            };
            let text = match value {
                Value::String(text) => Cow::Borrowed(text),
                Value::Number(number) => Cow::Owned(number.to_string()),
                Value::Null => continue,
                _ => return Err(wrong(format!("{name} must be a text"))),
            };
            if text.len() > LONGEST {
                return Err(wrong(format!(
                    "{name} must not be longer than {LONGEST} bytes; it has {}",
                    text.len()
                )));
            }
            if !text.trim().is_empty() {
                read.push((*name, text.into_owned()));
            }
        }
        Ok(Self(read))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| *given == name).map(|(_, text)| text.as_str())
    }
}

fn wrong(words: String) -> ErrorData {
    ErrorData::invalid_params(words, None)
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ContentBlock, ErrorCode};
    use serde_json::json;

    use super::*;
    use crate::error::Error;
    use crate::recall::NewEntry;
    use crate::store::{Edit, Store};

    fn recall(dir: &tempfile::TempDir) -> Recall {
        Recall::new(Store::open(dir.path()).unwrap())
    }

    /// The text of a prompt, or the words of its refusal.
    fn ask(recall: &Recall, name: &str, arguments: &Value) -> Result<String, String> {
        let mut request = GetPromptRequestParams::new(name);
        request.arguments = arguments.as_object().cloned();
        let result = get(recall, &request).map_err(|error| {
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{error:?}");
            error.message.into_owned()
        })?;
        match result.messages.as_slice() {
            [PromptMessage { content: ContentBlock::Text(text), .. }] => Ok(text.text.clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_prompt_tells_what_it_does_and_what_it_takes() {
        let dir = tempfile::tempdir().unwrap();
        let recall = recall(&dir);
        for prompt in all() {
            assert!(prompt.title.is_some() && prompt.description.is_some(), "{prompt:?}");
            let arguments = prompt.arguments.unwrap();
            assert!(!arguments.is_empty());
            assert!(arguments.iter().all(|one| one.description.is_some() && one.required == Some(false)));
            let blank = arguments.into_iter().map(|one| (one.name, json!(""))).collect();
            let text = ask(&recall, &prompt.name, &Value::Object(blank)).unwrap();
            assert_eq!(text, ask(&recall, &prompt.name, &json!({})).unwrap(), "what is blank is left out");
            assert!(!text.contains(['{', '}']), "{text}");
        }
    }

    #[test]
    fn bootstrap_tells_what_is_known_within_the_budget_and_calls_it_data() {
        let dir = tempfile::tempdir().unwrap();
        let recall = recall(&dir);
        assert_eq!(ask(&recall, "memory_bootstrap", &json!({})).unwrap(), EMPTY);
        for n in 0..4 {
            let content = format!("Port {n} is open. {}", "Long words. ".repeat(n * 40));
            let category = "decision_log".to_owned();
            recall
                .store(NewEntry { content, category, importance: 3, pinned: true, ..NewEntry::default() })
                .unwrap();
        }
        let text = ask(&recall, "memory_bootstrap", &json!({"budget": "2000"})).unwrap();
        assert!(
            text.starts_with(BOOTSTRAP) && text.contains("\n\n## Relevant Memory\n- [decision_log] "),
            "{text}"
        );
        assert_eq!(text.matches("- [").count(), 4);
        let text = ask(&recall, "memory_bootstrap", &json!({"budget": 100, "topic": "ports"})).unwrap();
        let text = text.strip_suffix(MORE).expect("where the others are");
        assert!(text.len() <= BOOTSTRAP.len() + 1 + 400, "{text}");
        assert!(text.ends_with("… and 3 more\n"), "{text}");
    }

    #[test]
    fn the_budget_alone_says_how_much_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let recall = recall(&dir);
        for n in 0..20 {
            let path = MemoryPath::parse(&format!("/memories/facts/{n}.md")).unwrap();
            let text = format!("---\nimportance: 3\n---\nPort {n} is open.\n");
            recall
                .store_handle()
                .change::<_, Error, _>(move |_| Ok((vec![Edit::write(&path, text.as_str())], ())))
                .unwrap();
        }
        for arguments in [json!({}), json!({"topic": "Which port is open?"})] {
            let text = ask(&recall, "memory_bootstrap", &arguments).unwrap();
            assert_eq!(text.matches("is open.").count(), 20, "{text}");
            assert!(!text.contains(MORE), "{text}");
        }
        let text = ask(&recall, "memory_bootstrap", &json!({"budget": "100"})).unwrap();
        assert!(text.contains("\n… and ") && text.ends_with(MORE), "{text}");
    }

    #[test]
    fn a_topic_that_a_host_split_at_its_blanks_is_put_together() {
        let dir = tempfile::tempdir().unwrap();
        let recall = recall(&dir);
        for content in ["The heron is the mascot.", "The favicon is blue.", "Lunch is at noon."] {
            let category = "project_context".to_owned();
            recall
                .store(NewEntry {
                    content: content.to_owned(),
                    category,
                    importance: 3,
                    ..NewEntry::default()
                })
                .unwrap();
        }
        let whole = ask(&recall, "memory_bootstrap", &json!({"topic": "heron favicon"})).unwrap();
        assert!(whole.contains("heron") && whole.contains("favicon"), "{whole}");
        let split = json!({"topic": "heron", "budget": "favicon"});
        assert_eq!(ask(&recall, "memory_bootstrap", &split).unwrap(), whole);
        let alone = json!({"budget": "favicon"});
        assert!(ask(&recall, "memory_bootstrap", &alone).unwrap().contains("favicon"));
    }

    #[test]
    fn what_is_wrong_with_an_argument_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let recall = recall(&dir);
        let long = "x".repeat(LONGEST + 1);
        let cases = [
            ("memory_bootstrap", json!({"budget": "0"}), "from 100 to 100000; it is \"0\""),
            ("memory_bootstrap", json!({"budget": -1}), "it is \"-1\""),
            ("memory_bootstrap", json!({"budget": "99999999999999999999999"}), "from 100 to 100000"),
            ("memory_bootstrap", json!({"budget": ["100"]}), "budget must be a text"),
            ("memory_bootstrap", json!({"bugdet": "100"}), "takes topic and budget, and no \"bugdet\""),
            (
                "memory_bootstrap",
                json!({"topic": long}),
                "topic must not be longer than 2000 bytes; it has 2001",
            ),
            ("memory_consolidate", json!({"path": "/etc"}), "of \"/etc\": it must start with /memories"),
            (
                "memory_consolidate",
                json!({"path": "/memories/gone.md"}),
                "there is none at /memories/gone.md",
            ),
            ("memory_consolidate", json!({"path": "../notes"}), "of \"../notes\": "),
            ("memory_forget", json!({}), "Unknown prompt: memory_forget. The prompts are memory_bootstrap, "),
        ];
        for (name, arguments, words) in cases {
            let told = ask(&recall, name, &arguments).unwrap_err();
            assert!(told.contains(words), "{name} {arguments}: {told}");
        }
    }

    #[test]
    fn the_others_name_what_they_are_about() {
        let dir = tempfile::tempdir().unwrap();
        let recall = recall(&dir);
        let path = MemoryPath::parse("/memories/notes/a.md").unwrap();
        recall
            .store_handle()
            .change::<_, Error, _>(move |_| Ok((vec![Edit::write(&path, "a")], ())))
            .unwrap();
        for path in ["/memories/notes/", "notes"] {
            let text = ask(&recall, "memory_consolidate", &json!({"path": path})).unwrap();
            assert!(text.starts_with("Put the memory below /memories/notes in order."), "{path}: {text}");
        }
        let text = ask(&recall, "memory_handover", &json!({"topic": "the release"})).unwrap();
        assert!(text.contains("needs to know about the release:"), "{text}");
    }
}
