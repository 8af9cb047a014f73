//! `memdir search`: the same as `retrieve`, a line for each memory, as `grep` would show it.

use std::ops::ControlFlow;

use super::super::fault::Fault;
use super::super::out::{self, Out};
use super::retrieve::Args;
use super::{place, snippet};
use crate::recall::Memory;

pub(in crate::cli) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    args.answer(out, |args, memory, out| say(args.query(), memory, out))
}

fn say(query: &str, memory: &Memory, out: &mut Out) -> ControlFlow<()> {
    let snippet = snippet::of(&memory.content, query);
    let mut text = String::new();
    for (part, is_match) in snippet.parts() {
        let part = out.shown(part);
        let style = if is_match { out::BAD.bold() } else { anstyle::Style::new() };
        text.push_str(&out.paint(style, part).to_string());
    }
    let place = place(memory, memory.lines.0 + snippet.line, out);
    out.line(format_args!("{place}  {}  {text}", out.paint(out::FAINT, format_args!("{:.3}", memory.score))))
}
