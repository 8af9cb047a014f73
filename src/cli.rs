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
#[cfg(feature = "http")]
mod double;
mod edit;
#[cfg(feature = "search")]
mod entries;
mod export;
mod fault;
mod forget;
mod grep;
mod help;
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
#[command(name = "memdir", version, about, long_about = help::LONG_ABOUT, after_long_help = help::AFTER_HELP)]
#[command(arg_required_else_help = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a store
    #[command(after_help = help::INIT_EXAMPLES)]
    Init(init::Args),
    /// Show what is there: sizes, ages, and who changed it last
    #[command(after_help = help::TREE_EXAMPLES)]
    Tree(tree::Args),
    /// Print a memory, as it is or as it was
    #[command(after_help = help::CAT_EXAMPLES)]
    Cat(cat::Args),
    /// Print the lines that match a text
    #[command(after_help = help::GREP_EXAMPLES)]
    Grep(grep::Args),
    /// Edit a memory in your editor, while agents may write to it
    #[command(long_about = help::EDIT_ABOUT, after_help = help::EDIT_EXAMPLES)]
    Edit(edit::Args),
    /// Show what was changed, when and by whom, newest first
    #[command(after_help = help::LOG_EXAMPLES)]
    Log(log::Args),
    /// Show what differs between versions of a memory
    #[command(after_help = help::DIFF_EXAMPLES)]
    Diff(diff::Args),
    /// Put memories back to an earlier state
    #[command(long_about = help::RESTORE_ABOUT, after_help = help::RESTORE_EXAMPLES)]
    Restore(restore::Args),
    /// Find out whether files and history agree
    #[command(long_about = help::CHECK_ABOUT, after_help = help::CHECK_EXAMPLES)]
    Check(check::Args),
    /// Show figures of the store
    Stats(stats::Args),
    /// Write all memories to a tar archive
    #[command(after_help = help::EXPORT_EXAMPLES)]
    Export(export::Args),
    /// Read files from a tar archive or a directory
    #[command(long_about = help::IMPORT_ABOUT, after_help = help::IMPORT_EXAMPLES)]
    Import(import::Args),
    /// Erase what versions in the history held
    #[command(long_about = help::REDACT_ABOUT, after_help = help::REDACT_EXAMPLES)]
    Redact(redact::Args),
    /// Remove entries whose time is over, or old versions from the history
    #[command(long_about = help::PRUNE_ABOUT, after_help = help::PRUNE_EXAMPLES)]
    Prune(prune::Args),
    /// Remove the whole store, and prove that it is gone
    #[command(long_about = help::FORGET_ABOUT, after_help = help::FORGET_EXAMPLES)]
    Forget(forget::Args),
    /// Store an entry: one fact, with a category and an importance
    #[cfg(feature = "search")]
    #[command(long_about = help::STORE_ABOUT, after_help = help::STORE_EXAMPLES)]
    Store(entries::store::Args),
    /// Find the memories that answer a question, and print them
    #[cfg(feature = "search")]
    #[command(long_about = help::RETRIEVE_ABOUT, after_help = help::RETRIEVE_EXAMPLES)]
    Retrieve(entries::retrieve::Args),
    /// Find the memories that answer a question: a line for each, as `grep` would show it
    #[cfg(feature = "search")]
    #[command(after_help = help::SEARCH_EXAMPLES)]
    Search(entries::retrieve::Args),
    /// List memories, newest first
    #[cfg(feature = "search")]
    #[command(after_help = help::LIST_EXAMPLES)]
    List(entries::list::Args),
    /// Delete an entry by its id
    #[cfg(feature = "search")]
    #[command(after_help = help::DELETE_EXAMPLES)]
    Delete(entries::delete::Args),
    /// Print what an agent is to know from the start, for its system prompt
    #[cfg(feature = "search")]
    #[command(after_help = help::PREFETCH_EXAMPLES)]
    Prefetch(entries::prefetch::Args),
    /// Measure how well questions are answered whose answers are known
    #[cfg(feature = "search")]
    #[command(long_about = help::EVAL_ABOUT, after_help = help::EVAL_EXAMPLES)]
    Eval(entries::eval::Args),
    /// Answer calls of the memory tools, as a model makes them
    #[command(long_about = help::CALL_ABOUT, after_help = help::CALL_EXAMPLES)]
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
    /// Stand in for the Messages API on a port: refuse what it refuses, say what a script says
    #[cfg(feature = "http")]
    #[command(long_about = help::DOUBLE_ABOUT, after_help = help::double_examples())]
    Double(double::Args),
    /// Serve the memory to a host of the Model Context Protocol, over standard input and output
    #[cfg(feature = "mcp")]
    #[command(long_about = help::MCP_ABOUT, after_help = help::MCP_EXAMPLES)]
    Mcp(mcp::Args),
    /// Run by the host of a coding agent at the turns of a session: tell what is known, note what would be lost
    #[cfg(feature = "mcp")]
    #[command(long_about = help::HOOK_ABOUT, after_help = help::HOOK_EXAMPLES)]
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
        #[cfg(feature = "http")]
        Command::Double(args) => double::run(args),
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
