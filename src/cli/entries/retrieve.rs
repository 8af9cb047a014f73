//! `memdir retrieve`: the memories that answer a question, whole.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use serde_json::json;

use super::super::busy::Busy;
use super::super::fault::{Fault, complain};
use super::super::out::{self, Out};
use super::super::place::{Common, Missing};
use super::super::when;
use super::{Filters, joined, place, recall_shown};
use crate::path;
use crate::recall::{Memory, Retrieved, Terms};
use crate::tool::MemoryShown;

/// What `retrieve` and `search` are asked.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// What is looked for, in plain language; an empty one gives the newest and most important
    #[arg(allow_hyphen_values = true)]
    query: String,
    /// Show at most N memories
    #[arg(short = 'n', long, value_name = "N", default_value = "10")]
    limit: NonZeroUsize,
    /// Show how each score came about
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    common: Common,
}

impl Args {
    /// Asks, and says what comes back: as JSON, or each memory as `say` has it.
    pub(super) fn answer(
        &self,
        out: &mut Out,
        say: impl Fn(&Self, &Memory, &mut Out) -> ControlFlow<()>,
    ) -> Result<u8, Fault> {
        let opened = self.common.open(Missing::Refuse)?;
        let ask = self.filters.ask(&opened, &self.query, self.limit)?;
        let busy = Busy::with("searching");
        let Retrieved { memories, .. } = recall_shown(&opened, &busy).retrieve(&ask)?;
        drop(busy);
        if self.common.json {
            let shown = if self.explain { MemoryShown::explained } else { MemoryShown::new };
            let memories: Vec<_> = memories.iter().map(shown).collect();
            _ = out.json(&json!({"memories": memories}));
        } else if memories.is_empty() {
            complain("Nothing answers that.");
        } else {
            _ = memories.iter().try_for_each(|memory| {
                say(self, memory, out)?;
                if self.explain { explain(memory, out) } else { ControlFlow::Continue(()) }
            });
        }
        opened.warn();
        Ok(0)
    }

    pub(super) fn query(&self) -> &str {
        &self.query
    }
}

pub(in crate::cli) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    args.answer(out, |_, memory, out| say(memory, out))
}

/// A line about the memory, and below it all of its text.
fn say(memory: &Memory, out: &mut Out) -> ControlFlow<()> {
    let score = out.paint(out::STRONG, format!("{:.3}", memory.score));
    let id = out.paint(out::ID, memory.id);
    let place = place(memory, memory.lines.0, out);
    out.line(format_args!("{score}  {id}  {place}{}", facts(memory)))?;
    memory.content.lines().try_for_each(|line| out.line(format!("    {}", out.shown(line)).trim_end()))
}

/// What else is known, each behind two blanks.
fn facts(memory: &Memory) -> String {
    let mut facts = Vec::new();
    facts.extend(memory.importance.map(|importance| format!("importance {importance}")));
    facts.extend(memory.pinned.then(|| "pinned".to_owned()));
    facts.extend(memory.key.as_ref().map(|key| format!("key {}", path::escape(key))));
    facts.extend((!memory.tags.is_empty()).then(|| format!("tags {}", joined(&memory.tags))));
    facts.extend(memory.expires_at.as_ref().map(|end| format!("until {}", when::local(end))));
    facts.iter().flat_map(|fact| ["  ", fact]).collect()
}

fn explain(memory: &Memory, out: &mut Out) -> ControlFlow<()> {
    let Terms { lexical, semantic, relevance, neighbours, importance, .. } = memory.terms;
    let terms = format!(
        "words {lexical:.3}, meaning {semantic:.3}: relevance {relevance:.3}, neighbours +{neighbours:.3}, importance ×{importance:.3}"
    );
    out.line(format_args!("    {}", out.paint(out::FAINT, terms)))
}
