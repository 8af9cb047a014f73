//! `memdir check`: whether files and history agree.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget};
use serde_json::{Value, json};

use super::busy::{QUICK, show};
use super::fault::{self, FAILED, Fault};
use super::out::{self, Out};
use super::place::{Common, Missing};
use super::words::{self, many};
use crate::guard::{self, Sureness};
use crate::hash::Hash;
use crate::path;
use crate::store::{Check, Finding, Progress, Report};
use crate::version::Version;

/// Edits from outside that are shown one by one.
const SHOWN: usize = 20;

#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct Args {
    /// Mend what is safe to mend
    #[arg(long)]
    fix: bool,
    /// Print only the end of the history's chain, to keep elsewhere; what is amiss goes to standard error
    #[arg(long, conflicts_with = "json")]
    print_head: bool,
    /// The end that the chain must have had at some time, as --print-head printed it
    #[arg(long, value_name = "HEAD", value_parser = head)]
    expect_head: Option<Hash>,
    /// Look for secrets, too: in every file, every version, and what else the store keeps. A rule that the settings turn
    /// off finds none; that they let all writes pass changes nothing here
    #[arg(long)]
    secrets: bool,
    /// Only list the rules by which secrets are found, and what is done about each where the settings say nothing
    #[arg(long, conflicts_with_all = ["fix", "print_head", "expect_head", "secrets", "json"])]
    list_rules: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    if args.list_rules {
        list_rules(out);
        return Ok(0);
    }
    let opened = args.common.open(Missing::Refuse)?;
    let check = Check { fix: args.fix, expected_head: args.expect_head, secrets: args.secrets };
    let mut bar = Bar::new();
    #[cfg_attr(not(feature = "search"), allow(unused_mut, reason = "there is no index"))]
    let mut report = opened.store.check(&check, &mut |progress| bar.show(progress))?;
    bar.end();
    #[cfg(feature = "search")]
    report.findings.extend(super::entries::index::finding(&opened));
    opened.warn();
    if args.print_head {
        for finding in &report.findings {
            fault::complain(&plain(finding));
        }
        _ = out.line(report.head);
    } else if args.common.json {
        _ = out.json(&object(&report));
    } else {
        tell(&report, out);
    }
    Ok(if report.is_sound() { 0 } else { FAILED })
}

fn list_rules(out: &mut Out) {
    for (name, sureness) in guard::rule_names() {
        let done = match sureness {
            Sureness::Sure => "refused",
            Sureness::Likely => "warned of",
            Sureness::ByShape => "refused or warned of, by its shape",
        };
        if out.line(format_args!("{name:<45}  {done}")).is_break() {
            return;
        }
    }
}

fn tell(report: &Report, out: &mut Out) {
    let absorbed = &report.absorbed.versions;
    for version in absorbed.iter().take(SHOWN) {
        let place = version.path.as_ref().map(|path| words::place(version, path)).unwrap_or_default();
        let did = words::did(version);
        let line = format!("{did:<8}  {place}  by somebody outside; it is in the history now");
        if out.line(line).is_break() {
            return;
        }
    }
    if absorbed.len() > SHOWN {
        let more = absorbed.len() - SHOWN;
        _ = out.line(format_args!("          and {more} more, which `memdir log --actor outside` lists"));
    }
    for finding in &report.findings {
        let (word, style) = word(finding);
        let (place, problem) = (path::escape(&finding.place), path::escape(&finding.problem));
        _ = out.line(format_args!("{:<8}  {place}: {problem}", out.paint(style, word)));
        if !finding.is_fixed
            && out.line(format_args!("          {}", path::escape(&finding.remedy))).is_break()
        {
            return;
        }
    }
    let wrong = report.findings.iter().filter(|finding| finding.is_wrong && !finding.is_fixed).count();
    let verdict = match wrong {
        0 => out.paint(out::GOOD, "files and history agree".to_owned()),
        1 => out.paint(out::BAD, "1 thing is wrong".to_owned()),
        _ => out.paint(out::BAD, format!("{wrong} things are wrong")),
    };
    _ = out.line(format_args!(
        "{}, {}: {verdict}",
        many(report.files, "file"),
        many(report.versions, "version")
    ));
}

fn word(finding: &Finding) -> (&'static str, anstyle::Style) {
    match (finding.is_fixed, finding.is_wrong) {
        (true, _) => ("mended", out::GOOD),
        (false, true) => ("wrong", out::BAD),
        (false, false) => ("note", out::ODD),
    }
}

fn plain(finding: &Finding) -> String {
    let Finding { problem, remedy, .. } = finding;
    path::escape(&format!("{}: {}: {problem}; {remedy}", word(finding).0, finding.place)).into_owned()
}

fn object(report: &Report) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "kind": finding.kind,
            "is_wrong": finding.is_wrong,
            "is_fixed": finding.is_fixed,
            "place": finding.place,
            "problem": finding.problem,
            "remedy": finding.remedy,
        })
    };
    let absorbed: &[Version] = &report.absorbed.versions;
    json!({
        "is_sound": report.is_sound(),
        "files": report.files,
        "versions": report.versions,
        "head": report.head.to_string(),
        "findings": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "absorbed": absorbed,
    })
}

/// Reads the end of a chain as `--print-head` prints it.
fn head(text: &str) -> Result<Hash, &'static str> {
    let wrong = "it is 64 hexadecimal digits, as `memdir check --print-head` prints them";
    let text = text.trim();
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong);
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong)?;
    }
    Ok(Hash(bytes))
}

/// A progress bar on standard error, where that is a terminal and the work takes a while.
struct Bar {
    begun: Instant,
    bar: Option<ProgressBar>,
}

impl Bar {
    fn new() -> Self {
        Self { begun: Instant::now(), bar: None }
    }

    fn show(&mut self, progress: Progress) {
        if self.begun.elapsed() < QUICK {
            return;
        }
        let bar = || ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        show(self.bar.get_or_insert_with(bar), progress);
    }

    fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_is_printed() {
        let hash = Hash::of(b"x");
        assert_eq!(head(&hash.to_string()), Ok(hash));
        assert_eq!(head(&format!("{hash}\n")), Ok(hash));
        for text in ["", "12", &"g".repeat(64), &"ä".repeat(32)] {
            assert!(head(text).is_err(), "{text}");
        }
    }
}
