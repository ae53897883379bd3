//! `recto repair`: sessions that no longer resume, or lose their history.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::collections::HashMap;

use clap::Args;
use recto_log::EntryUuid;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::edit::EditError as PlanError;
use recto_session::edit::repair::Clients;
use recto_session::edit::repair::Fix;
use recto_session::edit::repair::FoundLine;
use recto_session::edit::repair::Repair;
use recto_session::edit::repair::RepairOptions;
use recto_session::edit::repair::repair;
use recto_store::EditError;
use recto_store::Home;
use recto_store::StoreError;

use crate::commands::repair_all;
use crate::edit::editor::EditArgs;
use crate::edit::editor::Editor;
use crate::edit::editor::Goal;
use crate::edit::editor::Job;
use crate::edit::editor::Source;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::text::count;
use crate::terminal::text::entry;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Repair a session that does not resume
///
/// Finds broken links, cycles, repeated ids, torn and foreign lines, calls without results and
/// whatever else makes Claude Code stop, refuse or forget, and writes an intact log. recto
/// makes a fix only if no client version brings back less afterwards. Removed lines are still
/// in the source session or in the backup.
///
/// By default recto repairs what is lost by a client like the one that wrote the log, or a
/// newer one.
/// --all-clients also rewrites parallel calls so older clients find them.
///
/// With --all, checks every session of the home and shows a table of what can be recovered;
/// with --in-place, repairs them.
///
/// Examples:
///   recto repair 3f2a --dry-run
///   recto repair --all --in-place
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RepairArgs {
    /// The session
    #[arg(required_unless_present_any = ["all", "list"], conflicts_with_all = ["all", "list"])]
    session: Option<String>,
    /// Check all sessions of the home
    #[arg(long)]
    pub(crate) all: bool,
    /// List the available fixes
    #[arg(long, conflicts_with = "all")]
    pub(crate) list: bool,
    /// Make only these fixes
    #[arg(long, value_name = "FIX", value_delimiter = ',', value_parser = parse_fix)]
    only: Vec<Fix>,
    /// Do not make these fixes
    #[arg(long, value_name = "FIX", value_delimiter = ',', value_parser = parse_fix)]
    except: Vec<Fix>,
    /// Repair what any client loses, however old
    #[arg(long)]
    all_clients: bool,
    #[command(flatten)]
    pub(crate) edit: EditArgs,
}

fn parse_fix(text: &str) -> Result<Fix, String> {
    let known = Fix::ALL.iter().copied().find(|fix| fix.name() == text);
    known.ok_or_else(|| "unknown fix; `recto repair --list` lists them".to_owned())
}

impl RepairArgs {
    fn words(&self, session: &str) -> Vec<String> {
        let mut words = vec![session.to_owned()];
        for (option, fixes) in [("--only", &self.only), ("--except", &self.except)] {
            if !fixes.is_empty() {
                let names: Vec<&str> = fixes.iter().map(|fix| fix.name()).collect();
                words.extend([option.to_owned(), names.join(",")]);
            }
        }
        words.extend(self.all_clients.then(|| "--all-clients".to_owned()));
        words
    }
}

pub(crate) fn cmd_repair(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RepairArgs,
) -> Result<Outcome, CommandError> {
    let Some(session) = &args.session else {
        return repair_all::run(home, environment, output, args);
    };
    let source = Source::open(home, environment, session)?;
    let plan = match plan(home, &source, args) {
        Err(StoreError::Edit(EditError::Plan(PlanError::NothingToDo))) => {
            if output.json {
                let object = ObjectWriter::new()
                    .string("operation", "repair")
                    .string("source", &source.session.id.to_string())
                    .json("result", b"null")
                    .string("reason", "nothing is wrong with the session")
                    .json("fixes", b"[]");
                output.json_line(object)?;
            } else {
                output.line("nothing is wrong with the session")?;
            }
            return Ok(Outcome::Done);
        }
        other => other?,
    };
    if plan.draft.is_unchanged() {
        let message = plan.left.join("; ");
        return Err(CommandError::user("not-repairable", one_line(&message))
            .with_hint("`recto check` shows the details"));
    }
    let goal = Goal::of(&source, &args.edit, "repaired");
    let has_cycle = plan.fixes.iter().any(|applied| applied.fix == Fix::Cycle);
    let mut job = job(plan, args.words(session), output.json);
    if has_cycle && !args.edit.in_place {
        job.notes.push(
            "clients before 2.1.100 hang on every session of the project while the old log exists: use --in-place, or delete it".to_owned(),
        );
    }
    Editor { home, environment, output, source: &source }.finish(goal, args.edit.new.mode(), job)
}

/// What there is to mend.
pub(crate) fn plan<'s>(
    home: &Home,
    source: &'s Source,
    args: &RepairArgs,
) -> Result<Repair<'s>, StoreError> {
    // Other files are searched only if a line is missing.
    let found: OnceCell<HashMap<EntryUuid, FoundLine>> = OnceCell::new();
    let elsewhere = |uuid: &EntryUuid| {
        let found = found.get_or_init(|| {
            let session = source.opened.session();
            home.find_missing_lines(&source.inventory, &source.session, session)
        });
        found.get(uuid).cloned()
    };
    let set = |fixes: &[Fix]| fixes.iter().copied().collect::<BTreeSet<Fix>>();
    let options = RepairOptions {
        only: (!args.only.is_empty()).then(|| set(&args.only)),
        except: set(&args.except),
        clients: if args.all_clients { Clients::All } else { Clients::Writer },
        own: source.session.id,
        written: source.session.modified(),
        elsewhere: &elsewhere,
    };
    Ok(repair(&source.opened.manuscript, &options, &source.opened)?)
}

pub(crate) fn job<'s>(plan: Repair<'s>, arguments: Vec<String>, is_json: bool) -> Job<'s> {
    const MOST_SHOWN: usize = 40;
    let Repair { draft, fixes, aside, left, .. } = plan;
    let mut notes: Vec<String> = fixes
        .iter()
        .take(MOST_SHOWN)
        .map(|fix| {
            format!(
                "line {}  {}: {}",
                count(fix.line),
                fix.fix.name(),
                one_line(&fix.words.to_string())
            )
        })
        .collect();
    if fixes.len() > MOST_SHOWN {
        notes.push(format!("… and {} more", plural((fixes.len() - MOST_SHOWN) as u64, "fix")));
    }
    if !aside.is_empty() {
        notes.push(format!(
            "set aside: {} that no client can read, still in the old version",
            plural(aside.len() as u64, "line")
        ));
    }
    notes.extend(left.iter().map(|left| format!("left: {}", one_line(left))));
    // A log may have millions of lines that are all mended, and people see some of them.
    if !is_json {
        return Job { notes, ..Job::new("repair", arguments, draft) };
    }
    let list = fixes.iter().fold(ArrayWriter::new(), |all, fix| {
        let object = ObjectWriter::new()
            .string("fix", fix.fix.name())
            .number("line", fix.line)
            .string("about", &fix.words.to_string());
        all.json(&object.finish())
    });
    let aside = aside
        .iter()
        .fold(ArrayWriter::new(), |all, (line, _)| all.json(line.to_string().as_bytes()));
    let left = left.iter().fold(ArrayWriter::new(), |all, left| all.string(left));
    let details =
        vec![("fixes", list.finish()), ("aside", aside.finish()), ("left", left.finish())];
    Job { notes, details, ..Job::new("repair", arguments, draft) }
}

pub(crate) fn list(output: &mut Output) -> Result<Outcome, CommandError> {
    for fix in Fix::ALL {
        if output.json {
            let object = ObjectWriter::new().string("fix", fix.name()).string("about", fix.about());
            output.json_line(object)?;
        } else {
            let lines = entry(&format!("{:20}  ", fix.name()), fix.about(), output.width);
            lines.iter().try_for_each(|line| output.line(line))?;
        }
    }
    Ok(Outcome::Done)
}
