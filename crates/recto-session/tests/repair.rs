//! Repairs of every damaged log: every client brings everything back.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::EntryUuid;
use recto_log::Severity;
use recto_session::Session;
use recto_session::edit::EditError;
use recto_session::edit::Manuscript;
use recto_session::edit::Rewrite;
use recto_session::edit::compare;
use recto_session::edit::repair::Clients;
use recto_session::edit::repair::Fix;
use recto_session::edit::repair::FoundLine;
use recto_session::edit::repair::Repair;
use recto_session::edit::repair::RepairOptions;
use recto_session::edit::repair::repair;
use recto_session::health::health;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_session::request::reach;

use crate::cases;
use crate::edit::manuscript;
use crate::edit::written;

const OWN: &str = "22222222-2222-4222-8222-222222222222";

type Elsewhere<'e> = &'e dyn Fn(&EntryUuid) -> Option<FoundLine>;

fn options<'e>(clients: Clients, elsewhere: Elsewhere<'e>) -> RepairOptions<'e> {
    RepairOptions {
        only: None,
        except: BTreeSet::new(),
        clients,
        own: OWN.parse().unwrap(),
        written: "2026-01-01T00:00:00Z".parse().unwrap(),
        elsewhere,
    }
}

fn plan<'m>(source: &'m Manuscript, log: &[u8], clients: Clients) -> Result<Repair<'m>, EditError> {
    repair(source, &options(clients, &|_| None), &mut cases::fetch(log))
}

/// The repaired log; the log itself if there was nothing to do.
fn repaired(log: &[u8], options: &RepairOptions<'_>) -> Vec<u8> {
    let source = manuscript(log);
    match repair(&source, options, &mut cases::fetch(log)) {
        Ok(plan) => written(&plan.draft, &Rewrite::none(), log),
        Err(_) => log.to_vec(),
    }
}

/// The lines that were said, and of them those that a client reaches.
fn said(session: &Session, generation: Generation) -> (HashSet<String>, HashSet<String>) {
    let counts = |id: &recto_session::NodeId| {
        let node = session.node(*id);
        node.is_spoken() && !node.flags.is_sidechain
    };
    let name = |id: recto_session::NodeId| session.node(id).uuid.to_string();
    let reach = reach(session, generation);
    (
        session.ids().filter(counts).map(name).collect(),
        reach.chain.iter().copied().filter(counts).map(name).collect(),
    )
}

/// How much of what was said each client reaches, in percent.
fn row(session: &Session) -> Vec<String> {
    let cell = |generation: Generation| match reach(session, generation).outcome {
        Outcome::Resumed => {
            let (all, reached) = said(session, generation);
            format!("{}", reached.len() * 100 / all.len().max(1))
        }
        Outcome::Refused { .. } => "refused".into(),
        Outcome::Hangs { .. } => "hangs".into(),
    };
    Generation::ALL.into_iter().map(cell).collect()
}

/// Variants that are not brought back whole, and why.
const NOT_WHOLE: [(&str, &str); 6] = [
    ("branch_last_new_time", "a branch that was left stays a branch"),
    ("branch_last_old_time", "clients choose different branches; none is broken"),
    ("branch_last_prompt_old_leaf", "a branch that was left stays a branch"),
    ("compacted_by_hand", "a summary stands for the lines before it"),
    ("empty_file", "there is nothing in it"),
    ("prompt_null_parent", "a rewind to the very start looks the same; fixed if asked for"),
];

struct Variant {
    name: String,
    log: Vec<u8>,
}

fn variants() -> Vec<Variant> {
    let mut seen = HashSet::new();
    let cases = cases::corpora().into_iter().flat_map(|corpus| cases::cases(&corpus));
    cases
        .filter(|case| case.name.starts_with("edit/") && seen.insert(case.log.clone()))
        .map(|case| Variant { name: case.name["edit/".len()..].to_owned(), log: case.log })
        .collect()
}

fn exception(name: &str) -> Option<&'static str> {
    let variant = name.rsplit('/').next().unwrap();
    NOT_WHOLE.iter().find(|(known, _)| *known == variant).map(|(_, why)| *why)
}

#[test]
fn every_damaged_log_is_brought_back_by_every_client() {
    let mut table = Vec::new();
    let mut failures = Vec::new();
    for variant in variants() {
        let source = manuscript(&variant.log);
        let (after, fixes) = match plan(&source, &variant.log, Clients::All) {
            Ok(plan) => {
                let bytes = written(&plan.draft, &Rewrite::none(), &variant.log);
                let result = manuscript(&bytes);
                let lost = compare(
                    &source.session,
                    &result.session,
                    &plan.draft.removed(),
                    &Rewrite::none(),
                );
                assert_eq!(lost.losses, [], "{}", variant.name);
                let mut fixes: Vec<&str> = plan.fixes.iter().map(|made| made.fix.name()).collect();
                fixes.dedup();
                (result, format!("{} left: {:?}", fixes.join(" "), plan.left))
            }
            Err(error) => (manuscript(&variant.log), error.to_string()),
        };
        let (before_row, after_row) = (row(&source.session), row(&after.session));
        table.push(format!(
            "{:40} {:45} → {:30} {fixes}",
            variant.name,
            before_row.join(" "),
            after_row.join(" ")
        ));
        if exception(&variant.name).is_some() {
            continue;
        }
        for generation in Generation::ALL {
            let (all, reached) = said(&after.session, generation);
            if reach(&after.session, generation).outcome != Outcome::Resumed || all != reached {
                failures.push(format!("{} {generation}", variant.name));
            }
        }
        let health = health(&after.session, &Generation::ALL, &|_| None);
        for problem in health.problems.iter().filter(|found| found.severity == Severity::Damage) {
            failures.push(format!("{}: {problem:?}", variant.name));
        }
    }
    eprintln!("{}", table.join("\n"));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Recorded sessions, each log once.
fn recorded() -> Vec<Variant> {
    let mut seen = HashSet::new();
    let cases = cases::corpora().into_iter().flat_map(|corpus| cases::cases(&corpus));
    cases
        .filter(|case| !case.name.starts_with("edit/") && seen.insert(case.log.clone()))
        .map(|case| Variant { name: case.name, log: case.log })
        .collect()
}

#[test]
fn recorded_sessions_are_let_alone() {
    for case in recorded() {
        let source = manuscript(&case.log);
        match plan(&source, &case.log, Clients::Writer) {
            Ok(plan) => eprintln!(
                "{}: {:?} {:?} {:?}",
                case.name, source.session.versions, plan.fixes, plan.left
            ),
            Err(EditError::NothingToDo) => {}
            Err(error) => eprintln!("{}: {error}", case.name),
        }
    }
}
