//! Repairs of every damaged log: every client brings everything back.

use std::collections::BTreeSet;
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
    repair(source, &options(clients, &|_| None), &log)
}

/// The repaired log; the log itself if there was nothing to do.
fn repaired(log: &[u8], options: &RepairOptions<'_>) -> Vec<u8> {
    let source = manuscript(log);
    match repair(&source, options, &log) {
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

/// Variants in which lines cannot be sent: calls that have no result, thinking
/// whose answer is gone, API errors.
const UNSENDABLE: [&str; 6] = [
    "ends_with_api_error",
    "ends_with_tool_use",
    "no_assistant_text",
    "no_first_tool_result",
    "no_tool_result_unchained",
    "no_tool_results",
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
        let can_have_unsendable = UNSENDABLE.iter().any(|name| variant.name.ends_with(name));
        for reach in &health.reaches {
            if !reach.is_whole() || reach.unsendable.lines > 0 && !can_have_unsendable {
                failures.push(format!("{} {} is not whole", variant.name, reach.generation));
            }
        }
        for problem in health.problems.iter().filter(|found| found.severity == Severity::Damage) {
            failures.push(format!("{}: {problem:?}", variant.name));
        }
    }
    eprintln!("{}", table.join("\n"));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// By default the clients that wrote a log, and newer ones, are looked after.
#[test]
fn a_damaged_log_is_brought_back_by_its_writer_and_newer_clients() {
    for variant in variants().iter().filter(|variant| exception(&variant.name).is_none()) {
        let session =
            manuscript(&repaired(&variant.log, &options(Clients::Writer, &|_| None))).session;
        let versions = session.counts.versions.iter().map(|(version, _)| version);
        let writer = versions.filter_map(|version| Generation::of_version(version)).max();
        let writer = writer.unwrap_or(Generation::latest());
        for generation in Generation::ALL.into_iter().filter(|one| *one >= writer) {
            let (all, reached) = said(&session, generation);
            assert_eq!(all, reached, "{} {generation}", variant.name);
        }
    }
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

/// What a client of 2.1.100 or newer wrote needs no repair. Older ones lose
/// parallel calls of their own logs, and 2.1.29 put answers into other files.
#[test]
fn recorded_sessions_are_let_alone() {
    let mut chains = 0;
    for case in recorded() {
        let source = manuscript(&case.log);
        let versions = source.session.counts.versions.iter().map(|(version, _)| version);
        let writer = versions.filter_map(|version| Generation::of_version(version)).max();
        let fixes = match plan(&source, &case.log, Clients::Writer) {
            Ok(plan) => plan.fixes,
            Err(EditError::NothingToDo | EditError::NoConversation) => continue,
            Err(error) => panic!("{}: {error}", case.name),
        };
        for made in &fixes {
            let is_known = match made.fix {
                Fix::LinearChain => writer < Some(Generation::V2_1_100),
                Fix::MissingParent => case.name.starts_with("2.1.29/I"),
                _ => false,
            };
            chains += u32::from(made.fix == Fix::LinearChain);
            assert!(is_known, "{}: {made:?}", case.name);
        }
    }
    assert!(chains > 3, "{chains}");
}

#[test]
fn a_prompt_that_begins_anew_is_joined_only_if_asked_for() {
    let variants = variants();
    let mut found = variants.iter().filter(|variant| variant.name.ends_with("/prompt_null_parent"));
    let variant = found.next().unwrap();
    let mut options = options(Clients::All, &|_| None);
    options.only = Some([Fix::SecondBeginning, Fix::LinearChain].into());
    let session = manuscript(&repaired(&variant.log, &options)).session;
    for generation in Generation::ALL {
        let (all, reached) = said(&session, generation);
        assert_eq!(all, reached, "{generation}");
    }
}

#[test]
fn fixes_can_be_left_out() {
    let variants = variants();
    let mut found = variants.iter().filter(|variant| variant.name.ends_with("/cycle"));
    let variant = found.next().unwrap();
    let mut options = options(Clients::All, &|_| None);
    options.except = [Fix::Cycle].into();
    let source = manuscript(&variant.log);
    let plan = repair(&source, &options, &variant.log).unwrap();
    assert!(plan.fixes.iter().all(|made| made.fix != Fix::Cycle));
    assert!(plan.left.iter().any(|left| left.contains("lead back to it")), "{:?}", plan.left);
}

/// 2.1.29 in a terminal writes some answers into the logs of helpers.
#[test]
fn answers_in_logs_of_helpers_are_put_back() {
    let corpus = &cases::corpora()[0];
    let projects = corpus.join("2.1.29/I8/home/.claude/projects");
    let project = &cases::folders(&projects)[0];
    let session = &cases::folders(project)[0];
    let log = std::fs::read(session.with_extension("jsonl")).unwrap();
    let mut helpers = Vec::new();
    for entry in std::fs::read_dir(session.join("subagents")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        helpers.extend(text.lines().map(|line| (cases::file_name(&path), line.to_owned())));
    }
    let elsewhere = |uuid: &EntryUuid| {
        let is_it = |line: &str| line.contains(&format!("\"uuid\":\"{uuid}\""));
        let (place, line) = helpers.iter().find(|(_, line)| is_it(line))?;
        Some(FoundLine { bytes: line.clone().into_bytes(), place: place.clone() })
    };
    let mut options = options(Clients::Writer, &elsewhere);
    options.own = cases::file_name(session).parse().unwrap();
    let source = manuscript(&log);
    let plan = repair(&source, &options, &log).unwrap();
    let put_back = |made: &&recto_session::edit::repair::Applied| {
        made.fix == Fix::MissingParent && made.words.contains("agent-aprompt_suggestion")
    };
    assert_eq!(plan.fixes.iter().filter(put_back).count(), plan.fixes.len(), "{:?}", plan.fixes);
    assert!(plan.fixes.len() >= 3);
    assert_eq!(plan.left, [""; 0]);
    let after = manuscript(&written(&plan.draft, &Rewrite::none(), &log)).session;
    let spoken = |session: &Session| said(session, Generation::latest()).0.len();
    assert_eq!(spoken(&after), spoken(&source.session) + plan.fixes.len());
    for generation in [Generation::V2_1_0, Generation::V2_1_100, Generation::latest()] {
        let (all, reached) = said(&after, generation);
        assert_eq!(all, reached, "{generation}");
    }
}

#[test]
fn what_is_taken_out_is_kept_aside() {
    let line = r#"{"type":"user","uuid":"a","parentUuid":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"x"}}"#;
    let saved = r#"{"type":"user","uuid":"b","parentUuid":"a","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"y"}}"#;
    let log = format!("{line}\nnull\n\0\0\0\n{{\"type\":\"us{saved}\n{{\"type\":\"user\",");
    let source = manuscript(log.as_bytes());
    let plan = plan(&source, log.as_bytes(), Clients::All).unwrap();
    let bytes = written(&plan.draft, &Rewrite::none(), log.as_bytes());
    assert_eq!(String::from_utf8(bytes).unwrap(), format!("{line}\n{saved}\n"));
    let lines: Vec<u64> = plan.aside.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4, 5]);
    let (_, torn) = plan.aside[3];
    assert_eq!(&log.as_bytes()[torn.offset as usize..], b"{\"type\":\"user\",");
}

/// A small generator of numbers that gives the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

/// Sets or removes a field of a line of the chain.
fn set(line: &mut String, key: &str, value: Option<serde_json::Value>) {
    let Ok(mut json) = serde_json::from_str::<serde_json::Value>(line) else { return };
    let Some(object) = json.as_object_mut().filter(|line| line.contains_key("uuid")) else {
        return;
    };
    match value {
        Some(value) => object.insert(key.into(), value),
        None => object.remove(key),
    };
    *line = json.to_string();
}

/// A log with random damage.
fn damaged(log: &[u8], random: &mut Random) -> Vec<u8> {
    let text = String::from_utf8(log.to_vec()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let uuids: Vec<String> = lines
        .iter()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|line| Some(line["uuid"].as_str()?.to_owned()))
        .collect();
    for _ in 0..1 + random.below(6) {
        let at = random.below(lines.len());
        let parent = match random.below(3) {
            0 => serde_json::Value::Null,
            1 => format!("00000000-0000-4000-8000-{:012}", random.below(99)).into(),
            _ => uuids[random.below(uuids.len())].clone().into(),
        };
        match random.below(14) {
            0 | 1 if lines.len() > 2 => drop(lines.remove(at)),
            2 | 3 => set(&mut lines[at], "parentUuid", Some(parent)),
            4 => set(&mut lines[at], "parentUuid", None),
            5 => set(&mut lines[at], "uuid", None),
            6 => set(&mut lines[at], "uuid", Some(uuids[random.below(uuids.len())].clone().into())),
            7 => set(&mut lines[at], "timestamp", None),
            8 => set(&mut lines[at], "isSidechain", Some(true.into())),
            9 => set(&mut lines[at], "message", Some(serde_json::json!({"role": "user"}))),
            10 => lines.insert(at, "null".into()),
            11 => lines[at].truncate(20),
            12 => lines.insert(random.below(at + 1), lines[at].clone()),
            _ => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
        }
    }
    (lines.join("\n") + "\n").into_bytes()
}

#[test]
fn random_damage_is_repaired_once_and_never_made_worse() {
    let corpus = &cases::corpora()[0];
    let mut bases: Vec<Vec<u8>> = ["2.0.50", "2.1.29", "2.1.325"]
        .iter()
        .map(|version| std::fs::read(corpus.join("edit").join(version).join("base.jsonl")).unwrap())
        .collect();
    let small = recorded().into_iter().filter(|case| case.log.len() < 100_000);
    bases.extend(small.map(|case| case.log).filter(|log| std::str::from_utf8(log).is_ok()));
    bases.retain(|log| !manuscript(log).session.nodes().is_empty());
    let (mut better, mut whole) = (0, 0);
    const SEEDS: u64 = 600;
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let base = random.below(bases.len());
        let log = damaged(&bases[base], &mut random);
        let clients = if seed % 2 == 0 { Clients::All } else { Clients::Writer };
        let source = manuscript(&log);
        let Ok(plan) = plan(&source, &log, clients) else { continue };
        let bytes = written(&plan.draft, &Rewrite::none(), &log);
        let result = manuscript(&bytes);
        let names = |session: &Session| -> Vec<String> {
            session.nodes().iter().map(|node| node.uuid.to_string()).collect()
        };
        assert_eq!(names(&result.session), names(&plan.session), "seed {seed}");
        let removed = plan.draft.removed();
        let lost = compare(&source.session, &result.session, &removed, &Rewrite::none());
        assert_eq!(lost.losses, [], "seed {seed}");
        let again = self::plan(&result, &bytes, clients).map(|plan| plan.fixes);
        assert!(again.as_ref().map_or(true, Vec::is_empty), "seed {seed}: {again:?}");
        let reached = |session: &Session| said(session, Generation::latest()).1.len();
        better += u32::from(reached(&result.session) > reached(&source.session));
        let all = said(&result.session, Generation::latest()).0.len();
        whole += u32::from(reached(&result.session) == all);
    }
    eprintln!("better: {better}, whole: {whole} of {SEEDS}");
    assert!(better > 200 && whole > 400, "{better} {whole}");
}

/// A rule that is not linear would take hours.
#[test]
fn long_logs_are_repaired() {
    const COUNT: usize = 20_000;
    type ParentOf = fn(usize) -> String;
    let shapes: [(&str, ParentOf); 5] = [
        ("no field", |_| String::new()),
        ("orphans", |at| format!("\"parentUuid\":\"gone{at}\",")),
        ("one cycle", |at| format!("\"parentUuid\":\"n{}\",", (at + 1) % COUNT)),
        ("star", |_| "\"parentUuid\":\"n0\",".into()),
        ("all one", |_| "\"parentUuid\":null,\"message\":{},".into()),
    ];
    for (name, parent) in shapes {
        let mut log = String::new();
        for at in 0..COUNT {
            let kind = if at % 2 == 0 { "user" } else { "assistant" };
            log += &format!(
                "{{\"type\":\"{kind}\",\"uuid\":\"n{at}\",{}\"timestamp\":\"2026-01-01T00:00:00.{:03}Z\",\"message\":{{\"id\":\"m{at}\",\"model\":\"x\",\"content\":[{{\"type\":\"text\",\"text\":\"x\"}}]}}}}\n",
                parent(at),
                at * 7 % 1000,
            );
        }
        let source = manuscript(log.as_bytes());
        let plan = plan(&source, log.as_bytes(), Clients::All);
        assert!(plan.is_ok() || name == "star", "{name}");
    }
}
