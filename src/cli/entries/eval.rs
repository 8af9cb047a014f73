//! `memdir eval`: how well retrieval answers questions whose answers are known.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::super::busy::Busy;
use super::super::fault::Fault;
use super::super::out::{self, Out};
use crate::recall::eval::{self, Figures, Line};
use crate::store::{Settings, Store};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A set: one JSON object a line, documents and questions
    file: PathBuf,
    /// Show figures for each kind of question, too
    #[arg(long)]
    kinds: bool,
    /// Another model than the one in the program: a model2vec directory
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Print JSON, an object a line
    #[arg(long)]
    json: bool,
}

pub(in crate::cli) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let set = read(&args.file)?;
    let here =
        tempfile::tempdir().map_err(|error| Fault::failed(format!("cannot make a directory: {error}")))?;
    let store = store(here.path(), &set, args.model.as_deref())?;
    let busy = Busy::with("asking");
    let figures = eval::evaluate(&store, &set)?;
    drop(busy);
    let shown = figures.iter().filter(|one| args.kinds || one.kind.is_none());
    if args.json {
        _ = shown.map(|one| out.json(one)).find(ControlFlow::is_break);
        return Ok(0);
    }
    let heading = "            recall@1  @5    @10   MRR   nDCG  questions  none  rejected  p50 ms  p99 ms";
    let _ = out.line(out.paint(out::STRONG, heading));
    _ = shown.map(|one| say(one, out)).find(ControlFlow::is_break);
    Ok(0)
}

fn say(one: &Figures, out: &mut Out) -> ControlFlow<()> {
    let way = format!("{:?}", one.way).to_lowercase();
    let kind = one.kind.as_deref().map(|kind| format!("  {}", out.shown(kind))).unwrap_or_default();
    out.line(format_args!(
        "{way:<10}  {:.3}     {:.3} {:.3} {:.3} {:.3} {:>9} {:>6} {:>8} {:>8.2} {:>7.2}{kind}",
        one.recall_at_1,
        one.recall_at_5,
        one.recall_at_10,
        one.mrr,
        one.ndcg,
        one.questions,
        one.unanswerable,
        one.rejected,
        one.p50_ms,
        one.p99_ms,
    ))
}

#[allow(clippy::disallowed_methods, reason = "a file that the person names, which is no memory")]
fn read(file: &Path) -> Result<Vec<Line>, Fault> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Fault::failed(format!("cannot read {}: {error}", file.display())))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let set: Vec<Line> = lines
        .map(|(n, line)| eval::line(line).map_err(|why| Fault::failed(format!("line {}: {why}", n + 1))))
        .collect::<Result<_, _>>()?;
    if set.is_empty() {
        return Err(Fault::failed("the set is empty: `memdir eval --help` shows what a line looks like"));
    }
    Ok(set)
}

/// A store of its own, that takes what the set has.
fn store(base: &Path, set: &[Line], model: Option<&Path>) -> Result<Store, Fault> {
    let mut settings = Settings::parse("[guard]\nmode = \"off\"\n")?;
    settings.entries.categories = eval::categories(set);
    settings.search.model = model.map(|dir| camino::Utf8PathBuf::from(dir.to_string_lossy().into_owned()));
    let builder = Store::builder(base).settings(settings);
    let builder = match eval::clock(set) {
        Some(now) => builder.clock(move || now),
        None => builder,
    };
    Ok(builder.open()?)
}
