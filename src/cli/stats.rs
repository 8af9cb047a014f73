//! `memdir stats`: figures of a store.

use serde_json::json;

use super::busy::Busy;
use super::fault::Fault;
use super::out::Out;
use super::place::{Common, Missing};
use super::when;
use super::words::{many, many_of, who};
use crate::store::Stats;
use crate::text::human_size;
use crate::version::rfc3339;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args, out: &mut Out) -> Result<u8, Fault> {
    let opened = args.common.open(Missing::Refuse)?;
    let busy = Busy::with("counting");
    let stats = opened.store.history()?.stats()?;
    #[cfg(feature = "search")]
    let index = super::entries::index::state(&opened)?;
    drop(busy);
    opened.warn();
    if args.common.json {
        let actor =
            |(actor, changes): &(crate::version::Actor, u64)| json!({"actor": actor, "changes": changes});
        #[cfg_attr(not(feature = "search"), allow(unused_mut, reason = "there is no index"))]
        let mut said = json!({
            "memories": stats.memories,
            "size_bytes": stats.bytes,
            "deleted_memories": stats.deleted,
            "versions": stats.versions,
            "redacted_versions": stats.redacted,
            "changes": stats.changes,
            "journal_size_bytes": stats.journal_bytes,
            "oldest_change_at": stats.span.as_ref().map(|(oldest, _)| rfc3339(oldest)),
            "newest_change_at": stats.span.as_ref().map(|(_, newest)| rfc3339(newest)),
            "actors": stats.actors.iter().map(actor).collect::<Vec<_>>(),
        });
        #[cfg(feature = "search")]
        {
            said["index"] = super::entries::index::object(&index);
        }
        _ = out.json(&said);
    } else {
        tell(&stats, out);
        #[cfg(feature = "search")]
        row(out, "index", &super::entries::index::words(&index));
    }
    Ok(0)
}

fn tell(stats: &Stats, out: &mut Out) {
    let mut row = |name: &str, value: String| row(out, name, &value);
    let memories = many_of(stats.memories, "memory", "memories");
    row("now", format!("{memories}, {}", human_size(stats.bytes)));
    let redacted =
        if stats.redacted == 0 { String::new() } else { format!(" ({} redacted)", stats.redacted) };
    row(
        "history",
        format!(
            "{} of {} in {}, {}{redacted}",
            many(stats.versions, "version"),
            many_of(stats.memories + stats.deleted, "memory", "memories"),
            many(stats.changes, "change"),
            human_size(stats.journal_bytes),
        ),
    );
    if let Some((oldest, newest)) = &stats.span {
        row("from", when::local(oldest));
        row("to", when::local(newest));
    }
    for (at, (actor, changes)) in stats.actors.iter().enumerate() {
        row(if at == 0 { "by" } else { "" }, format!("{}: {}", who(actor), many(*changes, "change")));
    }
}

fn row(out: &mut Out, name: &str, value: &str) {
    _ = out.line(format_args!("{name:<10}{value}"));
}
