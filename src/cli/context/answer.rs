//! From a line to its answer: pure.

use serde_json::{Value, json};

use super::line::{Line, Refusal};
use super::policy::Chosen;
use crate::context::{
    self, Needs, Plan, Profile, Request, Spill, Transcript, repaired, spilled, splice, validate_line,
    violations,
};

/// What is said of a line.
#[derive(Debug)]
pub(super) struct Answer {
    /// JSON on one line.
    pub(super) json: String,
    /// Whether it is neither an error nor that something is not valid.
    pub(super) is_fine: bool,
}

/// By what conversations are planned.
#[derive(Debug)]
pub(super) struct Planner {
    pub(super) chosen: Chosen,
    /// The model, whatever a request says.
    pub(super) model: Option<String>,
}

impl Answer {
    fn fine(json: String) -> Self {
        Self { json, is_fine: true }
    }

    pub(super) fn refused(why: &Refusal) -> Self {
        Self { json: json!({ "error": why }).to_string(), is_fine: false }
    }
}

/// Whether a conversation is valid.
pub(super) fn validate(line: &str, model: Option<&str>) -> Answer {
    let judged = match Line::read(line) {
        Ok(Line { request, .. }) => {
            let found = violations(&request, &profile(&request, model), &());
            json!({"valid": found.is_empty(), "violations": found})
        }
        Err(Refusal::NoRequest { .. }) => validate_line(line),
        Err(why) => return Answer::refused(&why),
    };
    Answer { json: judged.to_string(), is_fine: judged["valid"] == true }
}

/// A conversation made valid.
pub(super) fn repair(line: &str, model: Option<&str>) -> Answer {
    answered(Line::read(line).map(|Line { request, .. }| {
        let (whole, repairs) = repaired(&request, &profile(&request, model), &());
        object(&[(name(&request), whole.json()), ("repairs", json!(repairs).to_string())])
    }))
}

/// What is to be sent of a conversation, and why.
pub(super) fn plan(line: &str, planner: &Planner) -> Answer {
    answered(Line::read(line).and_then(|line| {
        let plan = planner.plan(&line, &line.transcript()?)?;
        Ok(json!(plan).to_string())
    }))
}

/// What is to be sent of a conversation.
pub(super) fn render(line: &str, planner: &Planner) -> Answer {
    answered(Line::read(line).and_then(|line| {
        let transcript = line.transcript()?;
        let plan = match line.plan {
            Some(plan) => read_plan(plan.get(), transcript.len())?,
            None => planner.plan(&line, &transcript)?,
        };
        rendered(&line.request, &transcript, &plan)
    }))
}

impl Planner {
    fn plan(&self, line: &Line<'_>, transcript: &Transcript) -> Result<Plan, Refusal> {
        let own = line.policy.map(|policy| Chosen::read_json(policy.get()));
        let own = own.transpose().map_err(|message| Refusal::BadPolicy { message })?;
        let policy = own.as_ref().unwrap_or(&self.chosen).policy_for(&line.request, self.model.as_deref());
        Ok(context::plan(transcript, &policy)?)
    }
}

fn answered(answer: Result<String, Refusal>) -> Answer {
    answer.map_or_else(|why| Answer::refused(&why), Answer::fine)
}

fn profile(request: &Request, model: Option<&str>) -> Profile {
    model.map_or_else(|| request.profile(), Profile::of)
}

/// Under which name a conversation is answered.
fn name(request: &Request) -> &'static str {
    if request.is_list() { "messages" } else { "request" }
}

/// Reads a plan that is about all of so many messages.
fn read_plan(json: &str, messages: usize) -> Result<Plan, Refusal> {
    let wrong = |message: String| Refusal::WrongPlan { message };
    let plan: Plan = serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
    if plan.messages != messages {
        return Err(wrong(format!(
            "the plan is about {} messages, and there are {messages}: plan again",
            plan.messages
        )));
    }
    let end = plan.atoms.iter().try_fold(0, |end, atom| {
        (atom.messages.start == end && atom.messages.end > end).then_some(atom.messages.end)
    });
    if end != Some(messages) {
        return Err(wrong("its atoms are not the messages from 0, one after another".to_owned()));
    }
    Ok(plan)
}

fn rendered(request: &Request, transcript: &Transcript, plan: &Plan) -> Result<String, Refusal> {
    let mut whole = context::render(transcript, plan);
    if !request.is_list() {
        whole = spliced(request, &whole, &plan.needs)?;
    }
    let spill = |spill: &Spill| json!({"path": spill.path, "text": spilled(transcript, spill)});
    let spills: Vec<Value> = plan.spills.iter().map(spill).collect();
    Ok(object(&[
        (name(request), whole),
        ("needs", json!(plan.needs).to_string()),
        ("edits", plan.edits.len().to_string()),
        ("spills", json!(spills).to_string()),
        ("wanted", wanted(request, plan)?),
        ("flush", json!(plan.flush).to_string()),
        ("warnings", json!(plan.warnings).to_string()),
    ]))
}

/// What is wanted. Where the API itself is asked, that is a request, which is made here.
fn wanted(request: &Request, plan: &Plan) -> Result<String, Refusal> {
    let mut wanted = json!(plan.wanted);
    let asked = plan.wanted.as_ref().filter(|_| !request.is_list());
    let Some((asked, needs)) = asked.and_then(|asked| Some((asked, asked.needs.as_ref()?))) else {
        return Ok(wanted.to_string());
    };
    let whole = spliced(request, &asked.messages, needs)?;
    if let Some(fields) = wanted.as_object_mut() {
        fields.shift_remove("messages");
    }
    let rest = wanted.to_string();
    Ok(format!("{{\"request\":{whole},{}", &rest[1..]))
}

/// A request with these messages, and what they need.
fn spliced(request: &Request, messages: &str, needs: &Needs) -> Result<String, Refusal> {
    splice(&request.json(), messages, needs).map_err(|error| Refusal::NoRequest {
        message: format!("what the plan needs cannot be put into it: {error}"),
        path: String::new(),
    })
}

/// An object of fields whose values are JSON already.
fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}
