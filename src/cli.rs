//! The command line: the only module that reads the environment, prints, or knows a terminal.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use crate::guard::Guard;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::path;
use crate::store::Actor;
use crate::tool;

mod busy;
mod call;
mod cat;
mod check;
mod context;
mod diff;
mod edit;
#[cfg(feature = "search")]
mod entries;
mod export;
mod fault;
mod forget;
mod grep;
#[cfg(feature = "mcp")]
mod hook;
mod ids;
mod import;
mod init;
mod lines;
mod log;
#[cfg(feature = "mcp")]
mod logs;
#[cfg(feature = "mcp")]
mod mcp;
mod out;
mod outlet;
mod paths;
mod pipe;
mod place;
mod prune;
mod redact;
mod restore;
mod stats;
mod traces;
mod tree;
mod walk;
mod when;
mod words;

use fault::Fault;
use out::speak;
use place::Place;

/// The memory of an LLM agent, kept as plain files that a person can read, edit, diff and delete.
#[derive(Debug, Parser)]
#[command(name = "memdir", version, about, long_about = LONG_ABOUT, after_long_help = AFTER_HELP)]
#[command(arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a store
    #[command(after_help = INIT_EXAMPLES)]
    Init(init::Args),
    /// Show what is there: sizes, ages, and who changed it last
    #[command(after_help = TREE_EXAMPLES)]
    Tree(tree::Args),
    /// Print a memory, as it is or as it was
    #[command(after_help = CAT_EXAMPLES)]
    Cat(cat::Args),
    /// Print the lines that match a text
    #[command(after_help = GREP_EXAMPLES)]
    Grep(grep::Args),
    /// Edit a memory in your editor, while agents may write to it
    #[command(long_about = EDIT_ABOUT, after_help = EDIT_EXAMPLES)]
    Edit(edit::Args),
    /// Show what was changed, when and by whom, newest first
    #[command(after_help = LOG_EXAMPLES)]
    Log(log::Args),
    /// Show what differs between versions of a memory
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(diff::Args),
    /// Put memories back to an earlier state
    #[command(long_about = RESTORE_ABOUT, after_help = RESTORE_EXAMPLES)]
    Restore(restore::Args),
    /// Find out whether files and history agree
    #[command(long_about = CHECK_ABOUT, after_help = CHECK_EXAMPLES)]
    Check(check::Args),
    /// Show figures of the store
    Stats(stats::Args),
    /// Write all memories to a tar archive
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(export::Args),
    /// Read files from a tar archive or a directory
    #[command(long_about = IMPORT_ABOUT, after_help = IMPORT_EXAMPLES)]
    Import(import::Args),
    /// Erase what versions in the history held
    #[command(long_about = REDACT_ABOUT, after_help = REDACT_EXAMPLES)]
    Redact(redact::Args),
    /// Remove entries whose time is over, or old versions from the history
    #[command(long_about = PRUNE_ABOUT, after_help = PRUNE_EXAMPLES)]
    Prune(prune::Args),
    /// Remove the whole store, and prove that it is gone
    #[command(long_about = FORGET_ABOUT, after_help = FORGET_EXAMPLES)]
    Forget(forget::Args),
    /// Store an entry: one fact, with a category and an importance
    #[cfg(feature = "search")]
    #[command(long_about = STORE_ABOUT, after_help = STORE_EXAMPLES)]
    Store(entries::store::Args),
    /// Find the memories that answer a question, and print them
    #[cfg(feature = "search")]
    #[command(long_about = RETRIEVE_ABOUT, after_help = RETRIEVE_EXAMPLES)]
    Retrieve(entries::retrieve::Args),
    /// Find the memories that answer a question: a line for each, as `grep` would show it
    #[cfg(feature = "search")]
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(entries::retrieve::Args),
    /// List memories, newest first
    #[cfg(feature = "search")]
    #[command(after_help = LIST_EXAMPLES)]
    List(entries::list::Args),
    /// Delete an entry by its id
    #[cfg(feature = "search")]
    #[command(after_help = DELETE_EXAMPLES)]
    Delete(entries::delete::Args),
    /// Print what an agent is to know from the start, for its system prompt
    #[cfg(feature = "search")]
    #[command(after_help = PREFETCH_EXAMPLES)]
    Prefetch(entries::prefetch::Args),
    /// Measure how well questions are answered whose answers are known
    #[cfg(feature = "search")]
    #[command(long_about = EVAL_ABOUT, after_help = EVAL_EXAMPLES)]
    Eval(entries::eval::Args),
    /// Answer calls of the memory tools, as a model makes them
    #[command(long_about = CALL_ABOUT, after_help = CALL_EXAMPLES)]
    Call {
        #[command(flatten)]
        place: Place,
        /// Who makes the changes, for the history [default: $MEMDIR_ACTOR, else an agent without a name]
        #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        actor: Option<String>,
        /// Whose file the one-file tool keeps: /memories/NAME.txt [default: agent]
        #[cfg(feature = "search")]
        #[arg(long, value_name = "NAME", value_parser = tool::agent_name)]
        agent: Option<String>,
        /// One call; without it, one call per line is read from standard input
        #[arg(value_name = "JSON", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        json: Option<String>,
    },
    /// Keep long conversations with the Messages API valid, and within their window
    #[command(long_about = context::ABOUT, after_help = context::EXAMPLES)]
    Context(context::Args),
    /// Serve the memory to a host of the Model Context Protocol, over standard input and output
    #[cfg(feature = "mcp")]
    #[command(long_about = MCP_ABOUT, after_help = MCP_EXAMPLES)]
    Mcp(mcp::Args),
    /// Run by the host of a coding agent at the turns of a session: tell what is known, note what would be lost
    #[cfg(feature = "mcp")]
    #[command(long_about = HOOK_ABOUT, after_help = HOOK_EXAMPLES)]
    Hook(hook::Args),
    /// Print the tool definitions to put into a request to a model
    Tools {
        /// Whose format the definitions are in
        #[arg(long, value_enum, default_value_t = Dialect::Anthropic)]
        dialect: Dialect,
        /// Print the paragraph for the system prompt instead: when to look, what to save, what to forget
        #[arg(long)]
        system: bool,
        /// Print the one-file tool alone (save and clear), for a model that is given no other memory
        #[cfg(feature = "search")]
        #[arg(long, conflicts_with = "system")]
        one_file: bool,
        /// The store whose settings add categories
        #[cfg(feature = "search")]
        #[command(flatten)]
        place: Place,
    },
    /// Print a script that completes this command in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (read it with `memdir man | man -l -`)
    Man,
}

/// Whose format tool definitions are printed in.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Dialect {
    /// The Messages API of Anthropic
    Anthropic,
    /// The function tools of OpenAI
    #[value(name = "openai")]
    OpenAi,
    /// The tool list of an MCP server
    Mcp,
}

impl From<Dialect> for tool::Dialect {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Anthropic => Self::Anthropic,
            Dialect::OpenAi => Self::OpenAi,
            Dialect::Mcp => Self::Mcp,
        }
    }
}

const LONG_ABOUT: &str = "\
The memory of an LLM agent, kept as plain files that a person can read, edit, diff and delete.

A store is a directory. The agent's files are in its `memories/`, and `memdir call` answers the calls of the \
`memory_20250818` tool on them: view, create, str_replace, insert, delete, rename. What is changed is kept in a \
history in `.memdir/`, and an answered change survives a crash and a power cut. The other commands are for people: they \
show what agents wrote, and undo it.";

const AFTER_HELP: &str = "\
Which store:
  --dir BASE, or --home HOME --store NAME (that is HOME/stores/NAME), else $MEMDIR_DIR, else (but for `call` and \
`init`) the nearest directory above that holds `.memdir`, else ./memory
  `mcp` and `hook`: these options, else $MEMDIR_DIR, else ~/.local/share/memdir (in $XDG_DATA_HOME, if that is set)

Examples:
  memdir init
  memdir call '{\"command\":\"create\",\"path\":\"/memories/todo.md\",\"file_text\":\"- buy milk\\n\"}'
  memdir call --dir ./memory < calls.jsonl
  memdir tree
  memdir log --since yesterday
  memdir diff todo.md
  memdir restore todo.md --before '2h ago'

Paths: /memories/todo.md, or todo.md, or where the file is on disk.
Times: 2026-11-30, '2026-11-30 10:00' (local time), 2026-11-30T10:00:00Z, today, 'yesterday 14:30', 30m, 2h, 3d, 1w.

Environment:
  MEMDIR_DIR      the store, where no option names one, of `mcp` and `hook`, too
  MEMDIR_ACTOR    who makes the changes of `call`, `mcp` and `hook`, where --actor does not say so
  MEMDIR_LOG      what `mcp` tells on standard error: a level (error, warn, info, debug, trace; trace tells what memories \
hold) or filters, as memdir=debug,rmcp=warn [default: error]
  VISUAL, EDITOR  the editor of `edit`
  NO_COLOR        no colours; a pipe gets none, either

Settings: memdir.toml in the store, beside memories/; all of it is optional.

Exit codes: 0 fine, 1 the command failed (`check`: something is wrong; `grep`: nothing matches), 2 wrong usage (`hook`: 1).";

const INIT_EXAMPLES: &str = "\
Examples:
  memdir init
  memdir init ~/agents/planner/memory";

const TREE_EXAMPLES: &str = "\
Columns: size, age of the last change, who made it. `outside` is what was written without memdir.

Examples:
  memdir tree
  memdir tree projects -L 1";

const CAT_EXAMPLES: &str = "\
Examples:
  memdir cat notes.md
  memdir cat -n notes.md
  memdir cat notes.md --version memver_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C";

const GREP_EXAMPLES: &str = "\
Files that are no text are passed over. With --history each line begins with the id of the version. Exit code 1: nothing \
matches.

Examples:
  memdir grep 'Europe/Berlin'
  memdir grep -i -C 2 deadline projects
  memdir grep -E '20[0-9]{2}-[0-9]{2}' -l
  memdir grep --history 'Europe/Berlin' notes.md";

const EDIT_ABOUT: &str = "\
Edit a memory in your editor, while agents may write to it.

$VISUAL, else $EDITOR, else on a terminal vi gets a private copy. If the memory was changed meanwhile in other places, both edits are in \
it afterwards, also where it was renamed to; one that was deleted is there again. If they meet in the same lines, the memory \
stays as it is, both texts are shown, and yours is kept as a version in the history. An editor that ends with another exit code than 0 changes nothing.";

const EDIT_EXAMPLES: &str = "\
Examples:
  memdir edit notes.md
  EDITOR='code --wait' memdir edit notes.md --reason 'wrong address'";

const LOG_EXAMPLES: &str = "\
Each change has a line with its id, its time and who made it; below it a line for each version: its id, what it did, its \
size and its path.

Examples:
  memdir log
  memdir log notes.md -n 5
  memdir log --since yesterday --actor agents
  memdir log projects --operation deleted --json";

const DIFF_EXAMPLES: &str = "\
Examples:
  memdir diff notes.md                 what the last change did
  memdir diff notes.md yesterday       what has changed since
  memdir diff notes.md memver_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C memver_01KBA3Y4N7R5S9V1W3X5Y7Z9AB";

const RESTORE_ABOUT: &str = "\
Put memories back to an earlier state: one to the content of a version, a file, a directory or the whole store to what it \
was before a time. Or undo one change, wherever it is in the history.

Of a change that is undone, later edits and moves of the same files stay: it is taken out of the text as it is now. Where they \
changed the same lines, or there is nothing to merge (a file that is not text, or that the change made or deleted), the file \
goes back to what it was before the change, and the later versions are undone with it. Each line says which; --dry-run says \
it before.

A restore is a change of its own: nothing leaves the history, and it can be undone by its id. Deleted files come back. Where \
another memory is in the way, nothing is done without --overwrite.";

const RESTORE_EXAMPLES: &str = "\
Examples:
  memdir restore notes.md --to memver_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C
  memdir restore projects --before 'yesterday 14:30' --dry-run
  memdir restore --before 2h
  memdir restore --change memchg_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C";

const CHECK_ABOUT: &str = "\
Find out whether files and history agree.

Takes what others did to the files into the history, compares every file with its last version, and verifies the chain of \
versions, their contents and the database. For each thing that is wrong it says what to do. Exit code 1: something is wrong.

The chain proves nothing against somebody who can write the store: keep its end elsewhere (--print-head), and compare \
(--expect-head).";

const CHECK_EXAMPLES: &str = "\
Examples:
  memdir check
  memdir check --fix
  memdir check --print-head > ~/memory.head
  memdir check --expect-head $(cat ~/memory.head)";

const EXPORT_EXAMPLES: &str = "\
Examples:
  memdir export --output memory.tar
  memdir export --history --output - | zstd > memory.tar.zst";

const IMPORT_ABOUT: &str = "\
Read files from a tar archive or a directory.

Nothing is changed unless all of it may be imported: links, absolute names, names that lead outside, and more than the limits \
allow are refused. Memories that are there already stay as they are, and are reported, unless --overwrite is given. The \
store is made if it is missing.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  memdir import memory.tar
  memdir import ~/old-notes --into notes
  zstd -d < memory.tar.zst | memdir import - --overwrite";

const REDACT_ABOUT: &str = "\
Erase what versions in the history held, for good.

Content and path are gone from the history; that there was such a version stays, and the chain stays whole. What a memory \
holds now cannot be redacted: edit or delete it first. Other versions that hold the very same content are named; what holds \
parts of it is found by `memdir grep --history`. Exports, backups, git and other hard links to the files are out of reach.";

const REDACT_EXAMPLES: &str = "\
Examples:
  memdir redact memver_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C
  memdir redact $(memdir grep --history -l 'a secret')";

const PRUNE_ABOUT: &str = "\
Remove entries whose time is over, or old versions from the history.

Without --history entries go: those that have expired; of more than the settings allow (`max` in `[entries]`) those of the \
lowest importance, decayed by age; and, where the settings say so (`unused`), what nobody has asked for in a long time. \
Pinned ones stay, unless they have expired. On a terminal it asks before. All of it can be restored until the history is pruned.

With --history old versions go, for good.";

const PRUNE_EXAMPLES: &str = "\
Examples:
  memdir prune --dry-run
  memdir prune --yes
  memdir prune --history --dry-run
  memdir prune --history --keep-age 90d --keep-versions 50";

#[cfg(feature = "search")]
const STORE_ABOUT: &str = "\
Store an entry: one fact, with a category and an importance, in a Markdown file of its own.

What says the same as an entry of the category that is there already makes no second one: that one is brought up to date. An \
entry with the same --key is replaced. Others that are alike stay, and are named with what differs.

The store is made if it is missing.";

#[cfg(feature = "search")]
const STORE_EXAMPLES: &str = "\
Examples:
  memdir store 'Prefers dark mode in every editor.' --category user_preference --importance 5
  memdir store 'Staging runs on port 8443.' --category project_context --key staging.port --tag staging
  memdir store - --category decision_log --expires 90d < decision.md";

#[cfg(feature = "search")]
const RETRIEVE_ABOUT: &str = "\
Find the memories that answer a question, and print them, best first.

It looks through entries and through the passages of all other files, by words and by meaning. The score is between 0 and 1, and \
comparable between questions: what answers nothing scores low, and is left out.";

#[cfg(feature = "search")]
const RETRIEVE_EXAMPLES: &str = "\
Examples:
  memdir retrieve 'which port does staging use?'
  memdir retrieve 'editor settings' --category user_preference --min-importance 4
  memdir retrieve 'deployment' --as-of 'yesterday 14:30' --explain
  memdir retrieve '' -n 3 --json";

#[cfg(feature = "search")]
const SEARCH_EXAMPLES: &str = "\
Words of the question, and others derived from them, stand out. What matched by its meaning alone may have none.

Examples:
  memdir search 'staging port'
  memdir search 'why sqlite' --path-prefix projects --since 4w";

#[cfg(feature = "search")]
const LIST_EXAMPLES: &str = "\
Columns: id, importance, age of the last change, path; then, where there are any, `pinned` and tags. Files that are no \
entries have no importance.

Examples:
  memdir list --category user_preference
  memdir list --tag staging --json";

#[cfg(feature = "search")]
const DELETE_EXAMPLES: &str = "\
`memdir restore` brings it back. A file that is no entry is not deleted: it may hold more than what is outdated.

Examples:
  memdir delete --id mem_01KBA3XJ2M8Q4T6V0W2Y4Z6A8C --reason 'moved to port 9443'";

#[cfg(feature = "search")]
const PREFETCH_EXAMPLES: &str = "\
Pinned memories come first; then, with a QUERY, what answers it, else the newest and most important. Each has one line.

Examples:
  memdir prefetch
  memdir prefetch 'Can you fix the staging deployment?' --budget 500";

const FORGET_ABOUT: &str = "\
Remove the whole store: all memories, their whole history, everything but `memdir.toml`. It cannot be undone.

On a terminal the name of the store's directory has to be typed, elsewhere --yes is needed. Afterwards another process \
searches every byte that is left for pieces of what was there. The receipt says what went, what was searched, and what is out \
of reach.";

const FORGET_EXAMPLES: &str = "\
Examples:
  memdir forget --all
  memdir forget --all --yes --receipt receipt.json";

#[cfg(feature = "search")]
const EVAL_ABOUT: &str = "\
Measure how well questions are answered whose answers are known.

The documents of the set go into a store of their own, the questions are asked by words, by meaning, and by both, and what comes \
back is compared with what should: recall at 1, 5 and 10, mean reciprocal rank, nDCG at 10, milliseconds. Of questions that \
have no answer it is counted how many got none.

A document: {\"doc\": NAME, \"text\": TEXT} and, if any, \"category\" (then it is an entry) or \"path\" (of a plain file), \"tags\", \
\"importance\", \"created_at\", \"expires_at\", \"key\". A question: {\"query\": NAME, \"text\": TEXT, \"relevant\": [NAMES]} and, if any, \
\"kind\", \"categories\", \"tags\", \"since\", \"min_importance\".";

#[cfg(feature = "search")]
const EVAL_EXAMPLES: &str = "\
Examples:
  memdir eval questions.jsonl
  memdir eval questions.jsonl --kinds --model ~/models/potion-base-8M";

#[cfg(feature = "mcp")]
const MCP_ABOUT: &str = "\
Serve the memory to a host of the Model Context Protocol, over standard input and output.

The host starts it, one process for each of its sessions; as many as you like may use one store at once. Without --dir, --home \
or $MEMDIR_DIR the store is $XDG_DATA_HOME/memdir, else ~/.local/share/memdir, as hosts choose the working directory. A store \
that is missing is made.";

#[cfg(feature = "mcp")]
const MCP_EXAMPLES: &str = "\
Examples:
  memdir mcp
  memdir mcp --dir ~/agents/planner/memory
  claude mcp add --scope user memdir -- memdir mcp";

#[cfg(feature = "mcp")]
const HOOK_ABOUT: &str = "\
Run by the host of a coding agent at the turns of a session, with the host's JSON on standard input.

`session-start` prints what is known as the JSON that Claude Code adds to the context of a session; nothing where nothing is \
known. `pre-compact` notes the end of the conversation, before it is summed up, in /memories/sessions, a file for each \
session: texts, a line for each tool call, no secrets, and nothing twice. The store is that of `memdir mcp`.

A hook is over within two seconds, and never ends with exit code 2, which hosts take for \"block\".";

#[cfg(feature = "mcp")]
const HOOK_EXAMPLES: &str = "\
Examples:
  memdir hook session-start --budget 1000
  memdir hook pre-compact

For Claude Code, in ~/.claude/settings.json:
  {\"hooks\": {
    \"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"memdir hook session-start\"}]}],
    \"PreCompact\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"memdir hook pre-compact\"}]}]
  }}";

const CALL_ABOUT: &str = "\
Answer calls of the memory tools, as a model makes them.

A call is a `tool_use` block, or only its input (its fields tell the tool), or a whole assistant message (all its calls are \
answered, in one user message). With JSON as argument one call is answered, and the exit code is 1 if the answer is an error. Without it, calls \
are read from standard input, one JSON per line, and each is answered with one line on standard output, at once; a line \
that cannot be answered gets an error as its answer, and the next one goes on. Blank lines are skipped. The exit code is then 0.

The store is made if it is missing.";

const CALL_EXAMPLES: &str = "\
Examples:
  memdir call '{\"command\":\"view\",\"path\":\"/memories\"}'
  memdir call --dir ./memory --actor planner < calls.jsonl";

/// Runs the command that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    // What is made is private, and never closed to its owner; modes from the settings are given after the fact.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    #[allow(clippy::disallowed_methods, reason = "the arguments are read here and nowhere else")]
    let arguments: Vec<_> = env::args_os().collect();
    #[cfg(feature = "mcp")]
    let is_hook = is_for_a_hook(&arguments);
    let done = match traces::asked(&arguments) {
        Some(base) => speak(|out| traces::run(base, out)),
        None => match Cli::try_parse_from(arguments) {
            Ok(cli) => run(cli.command),
            Err(wrong) => explain(&wrong),
        },
    };
    let code = done.unwrap_or_else(Fault::report);
    #[cfg(feature = "mcp")]
    let code = if is_hook { hook::never_block(code) } else { code };
    code
}

/// Whether `hook` is the command, though options stand before it that are none there.
#[cfg(feature = "mcp")]
fn is_for_a_hook(arguments: &[OsString]) -> bool {
    if arguments.iter().all(|argument| argument != hook::NAME) {
        return false;
    }
    let commands = Cli::command();
    let is_command = |argument: &&OsString| commands.find_subcommand(argument).is_some();
    arguments.iter().skip(1).find(is_command).is_some_and(|name| name == hook::NAME)
}

fn run(command: Command) -> Result<ExitCode, Fault> {
    match command {
        Command::Init(args) => speak(|out| init::run(&args, out)),
        Command::Tree(args) => speak(|out| tree::run(&args, out)),
        Command::Cat(args) => speak(|out| cat::run(&args, out)),
        Command::Grep(args) => speak(|out| grep::run(&args, out)),
        Command::Edit(args) => speak(|out| edit::run(&args, out)),
        Command::Log(args) => speak(|out| log::run(&args, out)),
        Command::Diff(args) => speak(|out| diff::run(&args, out)),
        Command::Restore(args) => speak(|out| restore::run(&args, out)),
        Command::Check(args) => speak(|out| check::run(&args, out)),
        Command::Stats(args) => speak(|out| stats::run(&args, out)),
        Command::Export(args) => speak(|out| export::run(&args, out)),
        Command::Import(args) => speak(|out| import::run(&args, out)),
        Command::Redact(args) => speak(|out| redact::run(&args, out)),
        Command::Prune(args) => speak(|out| prune::run(&args, out)),
        Command::Forget(args) => speak(|out| forget::run(&args, out)),
        #[cfg(feature = "search")]
        Command::Store(args) => speak(|out| entries::store::run(&args, out)),
        #[cfg(feature = "search")]
        Command::Retrieve(args) => speak(|out| entries::retrieve::run(&args, out)),
        #[cfg(feature = "search")]
        Command::Search(args) => speak(|out| entries::search::run(&args, out)),
        #[cfg(feature = "search")]
        Command::List(args) => speak(|out| entries::list::run(&args, out)),
        #[cfg(feature = "search")]
        Command::Delete(args) => speak(|out| entries::delete::run(&args, out)),
        #[cfg(feature = "search")]
        Command::Prefetch(args) => speak(|out| entries::prefetch::run(&args, out)),
        #[cfg(feature = "search")]
        Command::Eval(args) => speak(|out| entries::eval::run(&args, out)),
        Command::Call {
            place,
            actor,
            #[cfg(feature = "search")]
            agent,
            json,
        } => {
            #[cfg(not(feature = "search"))]
            let agent: Option<String> = None;
            let base = place.base(variable("MEMDIR_DIR")?)?;
            call::run(&base, agent_named(actor)?, agent.as_deref(), json.as_deref())
        }
        Command::Context(args) => context::run(args),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(args),
        #[cfg(feature = "mcp")]
        Command::Hook(args) => hook::run(args),
        Command::Tools { system: true, .. } => print(format!("{}\n", tool::system_paragraph()).as_bytes()),
        #[cfg(feature = "search")]
        Command::Tools { dialect, one_file, place, .. } => {
            let settings = place.settings(variable("MEMDIR_DIR")?)?;
            let tools = tool::Definitions::new(dialect.into()).for_store(&settings);
            let tools = if one_file { tools.one_file() } else { tools.to_json() };
            print(format!("{tools:#}\n").as_bytes())
        }
        #[cfg(not(feature = "search"))]
        Command::Tools { dialect, .. } => {
            print(format!("{:#}\n", tool::definitions(dialect.into())).as_bytes())
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "memdir", &mut script);
            print(&script)
        }
        Command::Man => print(&manual().map_err(|error| Fault::failed(error.to_string()))?),
    }
}

/// Help that was asked for, or what is wrong with the arguments.
fn explain(wrong: &clap::Error) -> Result<ExitCode, Fault> {
    let text = wrong.render();
    if wrong.use_stderr() {
        // What was given stands in it as it is, but for secrets.
        let lines: Vec<_> =
            text.to_string().trim_end().lines().map(path::escape).map(Cow::into_owned).collect();
        fault::complain(&Guard::default().mask(&lines.join("\n")));
        return Ok(ExitCode::from(fault::USAGE));
    }
    print(text.to_string().as_bytes())
}

/// One page for the command, and one for each of its commands.
fn manual() -> std::io::Result<Vec<u8>> {
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    write_pages(&command, &mut pages)?;
    Ok(pages)
}

fn write_pages(command: &clap::Command, pages: &mut Vec<u8>) -> std::io::Result<()> {
    clap_mangen::Man::new(command.clone()).render(pages)?;
    let mut commands = command.get_subcommands().filter(|sub| sub.get_name() != "help");
    commands.try_for_each(|sub| write_pages(sub, pages))
}

fn print(bytes: &[u8]) -> Result<ExitCode, Fault> {
    pipe::say(bytes).map(|_| ExitCode::SUCCESS)
}

/// The agent whose calls are answered: as an option names it, else the environment.
fn agent_named(option: Option<String>) -> Result<Option<Actor>, Fault> {
    let name = match option {
        Some(name) => Some(name),
        None => variable("MEMDIR_ACTOR")?,
    };
    Ok(name.map(Actor::Agent))
}

/// A variable of the environment; one that is empty counts as missing.
fn variable(name: &str) -> Result<Option<String>, Fault> {
    #[allow(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.map(OsString::into_string).transpose().map_err(|_| Fault::usage(format!("${name} is not UTF-8")))
}
