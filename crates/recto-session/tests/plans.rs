//! Trimming, stripping and compressing every recorded session, whole and
//! damaged: nothing is lost but what was to go, requests stay valid.
//!
//! `RECTO_FUZZ_ITERATIONS` is how many random edits are tried, `RECTO_FUZZ_SEED`
//! starts somewhere else; a failure names the log and the options.

use std::collections::BTreeMap;
use std::collections::HashSet;

use recto_log::Lines;
use recto_log::decode;
use recto_session::edit::CompressOptions;
use recto_session::edit::EditError;
use recto_session::edit::Manuscript;
use recto_session::edit::OldLines;
use recto_session::edit::Plan;
use recto_session::edit::ResultAction;
use recto_session::edit::ResultPolicy;
use recto_session::edit::Rewrite;
use recto_session::edit::StripOptions;
use recto_session::edit::SummaryText;
use recto_session::edit::ToolDetail;
use recto_session::edit::TrimOptions;
use recto_session::edit::compare;
use recto_session::edit::compress;
use recto_session::edit::strip;
use recto_session::edit::trim;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_session::request::Reach;
use recto_session::request::Sent;
use recto_session::request::reach;
use recto_session::turns;
use serde_json::Value;

use crate::edit::logs;
use crate::edit::manuscript;
use crate::edit::messages;
use crate::edit::written;

const SEED: &str = "33333333-3333-4333-8333-333333333333";

/// What the API would refuse in messages.
fn faults(messages: &[u8]) -> Vec<String> {
    if messages.is_empty() {
        return Vec::new();
    }
    let messages: Vec<Value> = serde_json::from_slice(messages).unwrap();
    // Messages of one role in a row are one to the API.
    let mut merged: Vec<(&str, Vec<&Value>)> = Vec::new();
    let mut faults = Vec::new();
    for message in &messages {
        let role = message["role"].as_str().unwrap();
        if role == "system" {
            continue;
        }
        let blocks = message["content"].as_array().unwrap();
        if blocks.is_empty() {
            faults.push(format!("{role}: no content"));
        }
        match merged.last_mut() {
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => merged.push((role, blocks.iter().collect())),
        }
    }
    let ids = |blocks: &[&Value], kind: &str, key: &str| -> HashSet<String> {
        let of_kind = blocks.iter().filter(|block| block["type"] == kind);
        of_kind.map(|block| block[key].as_str().unwrap_or_default().to_owned()).collect()
    };
    for (at, (role, blocks)) in merged.iter().enumerate() {
        if blocks.iter().any(|block| block["type"] == "text" && block["text"] == "") {
            faults.push(format!("{role}: empty text"));
        }
        let beside = |place: usize| merged.get(place).map_or(&[][..], |(_, blocks)| blocks);
        let calls = ids(blocks, "tool_use", "id");
        if !calls.is_subset(&ids(beside(at + 1), "tool_result", "tool_use_id")) {
            faults.push("a call without a result".into());
        }
        let results = ids(blocks, "tool_result", "tool_use_id");
        let before = at.checked_sub(1).map_or(&[][..], beside);
        if !results.is_subset(&ids(before, "tool_use", "id")) {
            faults.push("a result without a call".into());
        }
    }
    faults
}

/// What is wrong with lines, by kind.
fn problems(log: &[u8]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for line in Lines::new(log) {
        for problem in decode(line).1 {
            *counts.entry(problem.kind.name()).or_default() += 1;
        }
    }
    counts
}

/// A log that is edited, with what is asked of each result.
struct Source {
    name: String,
    log: Vec<u8>,
    manuscript: Manuscript,
    problems: BTreeMap<&'static str, usize>,
    lines: HashSet<Vec<u8>>,
    faults: Vec<Vec<String>>,
}

impl Source {
    fn all() -> Vec<Source> {
        logs().into_iter().map(|(name, log)| Source::new(name, log)).collect()
    }

    fn new(name: String, log: Vec<u8>) -> Source {
        let manuscript = manuscript(&log);
        Source {
            name,
            problems: problems(&log),
            lines: log.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect(),
            faults: Generation::ALL
                .iter()
                .map(|generation| faults(&messages(&manuscript.session, &log, *generation)))
                .collect(),
            manuscript,
            log,
        }
    }

    /// Writes a plan and looks at the result with the eyes of every client.
    fn check(&self, plan: &Plan<'_>) -> Result<Vec<u8>, String> {
        let copy = written(&plan.draft, &Rewrite::none(), &self.log);
        let result = manuscript(&copy);
        let comparison =
            compare(&self.manuscript.session, &result.session, &plan.removed, &Rewrite::none());
        if !comparison.losses.is_empty() {
            return Err(format!("losses {:?}", comparison.losses));
        }
        for (generation, before) in Generation::ALL.iter().zip(&self.faults) {
            let after = faults(&messages(&result.session, &copy, *generation));
            if before.is_empty() && !after.is_empty() {
                return Err(format!("{generation}: {after:?}"));
            }
        }
        let problems = problems(&copy);
        if problems.iter().any(|(kind, count)| self.problems.get(kind) < Some(count)) {
            return Err(format!("problems {problems:?}"));
        }
        // What the plan does not name is as it was.
        let (_, changed, added) = plan.draft.counts();
        let other = copy.split(|byte| *byte == b'\n').filter(|line| !self.lines.contains(*line));
        if other.count() > changed + added {
            return Err("other lines have changed".into());
        }
        // The newest clients send what was foretold, give or take the rounding.
        let session = &self.manuscript.session;
        let newest = reach(session, Generation::latest());
        if newest.outcome == Outcome::Resumed {
            let back = self.come_back(&newest, &result);
            if !back.is_empty() {
                return Err(format!("lines have come back: {back:?}"));
            }
        }
        let leaf_stays = newest.leaf.is_some_and(|id| plan.draft.keeps(id));
        if newest.outcome == Outcome::Resumed && leaf_stays {
            let difference = plan.after.tokens.abs_diff(comparison.after.tokens);
            if plan.before != comparison.before || difference > 8 + plan.before.lines / 4 {
                let Plan { before, after, .. } = plan;
                return Err(format!("foretold {before:?} {after:?}, found {comparison:?}"));
            }
        }
        Ok(copy)
    }

    /// Lines that the newest clients send although they were not on the way.
    fn come_back(&self, before: &Reach, result: &Manuscript) -> Vec<u64> {
        let session = &self.manuscript.session;
        let known: HashSet<_> = before.chain.iter().map(|id| session.node(*id).uuid()).collect();
        let after = reach(&result.session, Generation::latest());
        let nodes = after.chain.iter().map(|id| result.session.node(*id));
        let old = nodes.filter_map(|node| session.find(&node.uuid()).map(|id| session.node(id)));
        let old = old.filter(|node| node.is_spoken() && !known.contains(&node.uuid()));
        old.map(|node| node.line).collect()
    }
}

fn trim_options() -> TrimOptions {
    TrimOptions { source: "1111".into(), ..TrimOptions::default() }
}

fn note_all() -> TrimOptions {
    TrimOptions { results: Some(ResultPolicy::default()), ..trim_options() }
}

fn drop_all() -> TrimOptions {
    let policy = ResultPolicy { action: ResultAction::DropPair, ..ResultPolicy::default() };
    TrimOptions { results: Some(policy), ..trim_options() }
}

fn compress_options(before: u32) -> CompressOptions {
    CompressOptions {
        before,
        summary: SummaryText::Made(ToolDetail::Counts),
        old: OldLines::Keep,
        seed: SEED.parse().unwrap(),
        source: "1111".into(),
    }
}

/// An edit.
#[derive(Debug)]
enum Edit {
    Trim(TrimOptions),
    Strip(StripOptions),
    Compress(CompressOptions),
}

impl Edit {
    fn plan<'m>(&self, source: &'m Source) -> Result<Plan<'m>, EditError> {
        let log = &source.log;
        match self {
            Edit::Trim(options) => trim(&source.manuscript, options, log),
            Edit::Strip(options) => strip(&source.manuscript, options, log),
            Edit::Compress(options) => compress(&source.manuscript, options, log),
        }
    }
}

/// Edits that were made, and what went wrong.
#[derive(Default)]
struct Run {
    made: u64,
    wrong: Vec<String>,
}

impl Run {
    /// Tries an edit on a log; `None` if there was nothing to do.
    fn make<'m>(&mut self, edit: &Edit, source: &'m Source) -> Option<(Plan<'m>, Vec<u8>)> {
        let found = match edit.plan(source) {
            Ok(plan) => source.check(&plan).map(|copy| (plan, copy)),
            Err(
                EditError::NothingToDo
                | EditError::NothingLeft
                | EditError::NoConversation
                | EditError::NotCurrent { .. }
                | EditError::NeedsRepair { .. },
            ) => return None,
            Err(error) => Err(error.to_string()),
        };
        match found {
            Ok(found) => {
                self.made += 1;
                Some(found)
            }
            Err(wrong) => {
                self.wrong.push(format!("{}: {edit:?}: {wrong}", source.name));
                None
            }
        }
    }

    /// Fails if anything went wrong, or if too few edits were made.
    fn finish(self, least: u64) {
        assert!(self.wrong.is_empty(), "{} wrong\n{}", self.wrong.len(), self.wrong.join("\n"));
        assert!(self.made >= least, "only {} made", self.made);
    }
}

/// Tries an edit on every log.
fn each(edit: &Edit, look: impl Fn(&Source, &Plan<'_>, &[u8])) -> Run {
    let mut run = Run::default();
    for source in Source::all() {
        if let Some((plan, copy)) = run.make(edit, &source) {
            look(&source, &plan, &copy);
        }
    }
    run
}

#[test]
fn notes_stand_for_results_and_nothing_else_changes() {
    let run = each(&Edit::Trim(note_all()), |source, plan, copy| {
        assert!(plan.removed.is_empty(), "{}", source.name);
        assert!(plan.after.tokens <= plan.before.tokens);
        let text = String::from_utf8_lossy(copy);
        assert!(
            text.contains("output removed by recto; recto show 1111 --turn"),
            "{}",
            source.name
        );
    });
    run.finish(10);
}

#[test]
fn pairs_are_dropped_whole() {
    let run = each(&Edit::Trim(drop_all()), |source, _, copy| {
        let left = manuscript(copy);
        let main = left.session.nodes().filter(|node| !node.flags.is_sidechain);
        assert!(!main.into_iter().any(|node| node.has_result()), "{}", source.name);
    });
    run.finish(50);
}

#[test]
fn images_and_attachments_go() {
    let options = TrimOptions { images: true, attachments: true, ..trim_options() };
    let run = each(&Edit::Trim(options), |_, _, _| {});
    run.finish(50);
}

#[test]
fn tokens_are_reached_or_it_is_said_what_can_be() {
    for tokens in [0, 100, 300] {
        let options = TrimOptions { to_tokens: Some(tokens), ..trim_options() };
        let run = each(&Edit::Trim(options), |source, plan, _| {
            assert_eq!(plan.is_reached, plan.after.tokens <= tokens, "{}", source.name);
            assert_eq!(plan.is_reached, plan.notes.is_empty(), "{}", source.name);
        });
        run.finish(10);
    }
}

#[test]
fn no_thinking_is_left() {
    let options = StripOptions { thinking: true, ..StripOptions::default() };
    let run = each(&Edit::Strip(options), |source, _, copy| {
        let left = String::from_utf8_lossy(copy);
        let thinks = |line: &&str| line.contains("\"type\":\"thinking\"");
        let main = left.lines().filter(|line| !line.contains("\"isSidechain\":true"));
        assert_eq!(
            main.filter(thinks).find(|line| line.contains("\"assistant\"")),
            None,
            "{}",
            source.name
        );
    });
    run.finish(20);
}

#[test]
fn tools_go_by_name() {
    for names in [vec![], vec!["Bash".to_owned()], vec!["Read".to_owned(), "Task".to_owned()]] {
        let options = StripOptions { tools: Some(names), ..StripOptions::default() };
        let run = each(&Edit::Strip(options), |_, _, _| {});
        run.finish(20);
    }
}

#[test]
fn what_is_not_conversation_goes_and_requests_stay_the_same() {
    let options = StripOptions { meta: true, ..StripOptions::default() };
    let run = each(&Edit::Strip(options), |source, plan, _| {
        assert_eq!(plan.after, plan.before, "{}", source.name);
    });
    run.finish(50);
}

#[test]
fn any_turn_can_be_forgotten() {
    let mut run = Run::default();
    for source in Source::all() {
        let count = u32::try_from(turns(&source.manuscript.session).len()).unwrap();
        for first in 1..=count {
            for last in first..=count.min(first + 1) {
                let options = StripOptions { turns: Some(first..=last), ..StripOptions::default() };
                run.make(&Edit::Strip(options), &source);
            }
        }
    }
    run.finish(300);
}

#[test]
fn every_client_sends_the_summary_and_what_was_kept() {
    let mut run = Run::default();
    for source in Source::all() {
        let session = &source.manuscript.session;
        for turn in turns(session).iter(session) {
            for old in [OldLines::Keep, OldLines::Drop] {
                let options = CompressOptions { old, ..compress_options(turn.number) };
                if let Some((plan, copy)) = run.make(&Edit::Compress(options), &source) {
                    begins_with_summary(&source, &plan, &manuscript(&copy));
                }
            }
        }
    }
    run.finish(300);
}

/// Whether all clients that went on from the same line send the summary first,
/// and nothing that it stands for.
fn begins_with_summary(source: &Source, plan: &Plan<'_>, result: &Manuscript) {
    let session = &source.manuscript.session;
    let newest = reach(session, Generation::latest());
    for generation in Generation::ALL {
        let after = reach(&result.session, generation);
        let before = reach(session, generation);
        if after.outcome != Outcome::Resumed || before.leaf != newest.leaf {
            continue;
        }
        let lines = after.sent.iter().filter_map(|sent| match sent {
            Sent::Line(line) => Some(result.session.node(line.node)),
            Sent::Added(_) => None,
        });
        let mut spoken = lines.filter(|node| node.is_spoken());
        let what = format!("{} {generation}", source.name);
        assert!(spoken.next().unwrap().flags.is_compact_summary, "{what}");
        let old: Vec<u64> = spoken
            .filter(|node| plan.removed.contains(&node.uuid()))
            .map(|node| node.line)
            .collect();
        assert_eq!(old, [0; 0], "{what}");
    }
}

/// A small generator of numbers that gives the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn tools(&mut self) -> Vec<String> {
        let names = ["Bash", "Read", "Write", "Edit", "Task", "Agent", "TodoWrite", "Grep"];
        (0..self.below(4)).map(|_| names[self.below(names.len())].to_owned()).collect()
    }

    fn number(&mut self, chances: usize, limit: usize) -> Option<u32> {
        let number = u32::try_from(self.below(limit)).unwrap();
        (!self.one_in(chances)).then_some(number)
    }

    fn edit(&mut self, turns: u32) -> Edit {
        let turn = 1 + u32::try_from(self.below(turns.max(1) as usize)).unwrap();
        match self.below(3) {
            0 => {
                let policy = ResultPolicy {
                    older_than: self.number(2, 4),
                    larger_than: self.number(2, 2000).map(u64::from),
                    tools: self.tools(),
                    action: [ResultAction::Note, ResultAction::DropPair][self.below(2)],
                };
                Edit::Trim(TrimOptions {
                    results: (!self.one_in(3)).then_some(policy),
                    images: self.one_in(2),
                    attachments: self.one_in(2),
                    keep_last: self.number(2, 3).unwrap_or(0),
                    to_tokens: self.number(2, 4000).map(u64::from),
                    source: "1111".into(),
                })
            }
            1 => Edit::Strip(StripOptions {
                thinking: self.one_in(2),
                tools: self.one_in(2).then(|| self.tools()),
                meta: self.one_in(3),
                turns: (turns > 0 && self.one_in(3))
                    .then(|| turn..=turns.min(turn + self.number(2, 3).unwrap_or(0))),
            }),
            _ => Edit::Compress(CompressOptions {
                old: [OldLines::Keep, OldLines::Drop][self.below(2)],
                summary: match self.below(3) {
                    0 => SummaryText::Given("what was".into()),
                    1 => SummaryText::Made(ToolDetail::Counts),
                    _ => SummaryText::Made(ToolDetail::Calls),
                },
                ..compress_options(turn)
            }),
        }
    }
}

/// A number from the environment.
fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn random_edits_lose_nothing_in_any_client() {
    let sources = Source::all();
    let seed = setting("RECTO_FUZZ_SEED", 1);
    let mut random = Random(seed);
    let mut run = Run::default();
    let rounds = setting("RECTO_FUZZ_ITERATIONS", 10_000);
    for _ in 0..rounds {
        let source = &sources[random.below(sources.len())];
        let turns = u32::try_from(turns(&source.manuscript.session).len()).unwrap();
        let edit = random.edit(turns);
        if turns > 0 {
            run.make(&edit, source);
        }
    }
    run.finish(rounds / 4);
}
