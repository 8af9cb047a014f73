//! The command line: the only module that reads the environment, prints, or knows a terminal.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::store::Actor;
use crate::tool;

mod call;
mod fault;
mod lines;
mod pipe;
mod place;

use fault::Fault;
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
    /// Answer calls of the memory tool, as a model makes them
    #[command(long_about = CALL_ABOUT, after_help = CALL_EXAMPLES)]
    Call {
        #[command(flatten)]
        place: Place,
        /// Who makes the changes, for the history [default: $MEMDIR_ACTOR, else an agent without a name]
        #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        actor: Option<String>,
        /// One call; without it, one call per line is read from standard input
        #[arg(value_name = "JSON", value_parser = clap::builder::NonEmptyStringValueParser::new())]
        json: Option<String>,
    },
    /// Print the tool definitions to put into a request to a model
    Tools {
        /// Whose format the definitions are in
        #[arg(long, value_enum, default_value_t = Dialect::Anthropic)]
        dialect: Dialect,
        /// Print the paragraph for the system prompt instead: when to look, what to save, what to forget
        #[arg(long)]
        system: bool,
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

const LONG_ABOUT: &str = "\
The memory of an LLM agent, kept as plain files that a person can read, edit, diff and delete.

A store is a directory. The agent's files are in its `memories/`, and `memdir` answers the calls of the \
`memory_20250818` tool on them: view, create, str_replace, insert, delete, rename. What is changed is kept in a \
history in `.memdir/`, and an answered change survives a crash and a power cut.";

const AFTER_HELP: &str = "\
Which store:
  --dir BASE, or --home HOME --store NAME (that is HOME/stores/NAME), else $MEMDIR_DIR, else ./memory

Examples:
  memdir call '{\"command\":\"create\",\"path\":\"/memories/todo.md\",\"file_text\":\"- buy milk\\n\"}'
  memdir call '{\"command\":\"view\",\"path\":\"/memories\"}'
  memdir call --dir ./memory < calls.jsonl
  memdir tools --dialect openai

Environment:
  MEMDIR_DIR      the store, where no option names one
  MEMDIR_ACTOR    who makes the changes, where --actor does not say so

Settings: memdir.toml in the store, beside memories/; all of it is optional.

Exit codes: 0 fine, 1 the call failed, 2 wrong usage.";

const CALL_ABOUT: &str = "\
Answer calls of the memory tool, as a model makes them.

A call is a `tool_use` block, or only its input, or a whole assistant message (all its calls are answered, in one user \
message). With JSON as argument one call is answered, and the exit code is 1 if the answer is an error. Without it, calls \
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
    let done = match Cli::try_parse() {
        Ok(cli) => run(cli.command),
        Err(wrong) => explain(&wrong),
    };
    done.unwrap_or_else(Fault::report)
}

fn run(command: Command) -> Result<ExitCode, Fault> {
    match command {
        Command::Call { place, actor, json } => {
            let base = place.base(variable("MEMDIR_DIR")?)?;
            let actor = match actor {
                Some(name) => Some(name),
                None => variable("MEMDIR_ACTOR")?,
            };
            call::run(&base, actor.map(Actor::Agent), json.as_deref())
        }
        Command::Tools { system: true, .. } => print(format!("{}\n", tool::system_paragraph()).as_bytes()),
        Command::Tools { dialect, system: false } => {
            let definitions = tool::definitions(match dialect {
                Dialect::Anthropic => tool::Dialect::Anthropic,
                Dialect::OpenAi => tool::Dialect::OpenAi,
                Dialect::Mcp => tool::Dialect::Mcp,
            });
            print(format!("{definitions:#}\n").as_bytes())
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
        fault::complain(text.to_string().trim_end());
        return Ok(ExitCode::from(fault::USAGE));
    }
    print(text.to_string().as_bytes())
}

/// One page for the command, and one for each of its commands.
fn manual() -> std::io::Result<Vec<u8>> {
    let mut command = Cli::command();
    command.build();
    let mut pages = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut pages)?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        clap_mangen::Man::new(sub.clone()).render(&mut pages)?;
    }
    Ok(pages)
}

fn print(bytes: &[u8]) -> Result<ExitCode, Fault> {
    pipe::say(bytes).map(|_| ExitCode::SUCCESS)
}

/// A variable of the environment; one that is empty counts as missing.
fn variable(name: &str) -> Result<Option<String>, Fault> {
    #[allow(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.map(OsString::into_string).transpose().map_err(|_| Fault::usage(format!("${name} is not UTF-8")))
}
