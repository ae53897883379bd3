//! Permissions: which calls run, which are refused, and which are asked about.
//!
//! The order is: rules that forbid, rules that ask, what no rule can allow, the mode, rules that
//! allow, and what only looks. Rules of all layers count; a rule that forbids wins over one that
//! allows, whatever their layers.

mod bash;
mod check;
mod code;
mod decision;
mod files;
mod mode;
mod pattern;
mod place;
mod removal;
mod rule;
mod sentence;
mod shell;
mod update;
mod web;

use std::path::PathBuf;

use serde_json::Value;

use crate::hook::Answer;
use crate::hook::Choice;
use crate::hook::Event;
use crate::hook::Label;
use crate::settings::Settings;
use crate::settings::Source;

use check::Ask;
use check::Check;

pub use decision::Decision;
pub use decision::DenialKind;
pub use decision::Reason;
pub use decision::Verdict;
pub use mode::Mode;
pub use place::Place;
pub(crate) use place::real_path;
pub use rule::Behavior;
pub use rule::Rule;
pub use rule::split_list;
pub use update::Destination;
pub use update::PermissionUpdate;

/// What the command line says about permissions.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// `--permission-mode`, or `--dangerously-skip-permissions`.
    pub mode: Option<Mode>,
    /// `--allowedTools`.
    pub allowed: Vec<String>,
    /// `--disallowedTools`.
    pub disallowed: Vec<String>,
    /// `--permission-prompts none`: nobody can be asked, and the model is told so.
    pub no_prompts: bool,
}

/// The rules and the mode of a session.
#[derive(Debug, Clone)]
pub struct Permissions {
    rules: Vec<Rule>,
    /// The mode.
    pub mode: Mode,
    no_prompts: bool,
    block_writes_outside: bool,
    asked_skills: Vec<String>,
    /// Whether the session has run a command: which variables its shell has is not known before.
    has_run_commands: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What it is called with.
    pub input: &'a Value,
}

impl Permissions {
    /// The permissions at the start of a session.
    pub fn new(settings: &Settings, command_line: &CommandLine) -> Self {
        let mut rules = Vec::new();
        for behavior in [Behavior::Deny, Behavior::Ask, Behavior::Allow] {
            let texts = settings.strings_in("permissions", behavior.name());
            rules.extend(texts.filter_map(|(text, source)| Rule::parse(text, behavior, source)));
        }
        let source = Source::CommandLine;
        let given = command_line.disallowed.iter().map(|text| (text, Behavior::Deny));
        let given = given.chain(command_line.allowed.iter().map(|text| (text, Behavior::Allow)));
        rules.extend(given.filter_map(|(text, behavior)| Rule::parse(text, behavior, source)));
        let no_prompts = command_line.no_prompts
            || settings
                .value_in("permissions", "denyInsteadOfPrompting")
                .is_some_and(|(v, _)| v == true);
        let block_writes_outside = settings
            .value_in("permissions", "blockWritesOutsideWorkingDirectories")
            .is_some_and(|(value, _)| value == true);
        let mode = Mode::at_start(command_line.mode, settings);
        let asked_skills = Vec::new();
        let has_run_commands = false;
        Permissions {
            rules,
            mode,
            no_prompts,
            block_writes_outside,
            asked_skills,
            has_run_commands,
        }
    }

    /// A command has run, so that variables of the shell are known from now on.
    pub fn note_command(&mut self) {
        self.has_run_commands = true;
    }

    /// The directories that settings add to the working directories, as they are written.
    pub fn additional_directories(settings: &Settings) -> Vec<String> {
        let texts = settings.strings_in("permissions", "additionalDirectories");
        texts.map(|(text, _)| text.to_owned()).collect()
    }

    /// Takes over what a host or a hook granted. Directories are returned: the place has them.
    pub fn apply(&mut self, update: &PermissionUpdate) -> Vec<PathBuf> {
        match update {
            PermissionUpdate::AddRules { rules, behavior, .. } => {
                for (tool, content) in rules {
                    let text = match content {
                        Some(content) => format!("{tool}({content})"),
                        None => tool.clone(),
                    };
                    self.rules.extend(Rule::parse(&text, *behavior, Source::Session));
                }
                Vec::new()
            }
            PermissionUpdate::AddDirectories { directories, .. } => {
                directories.iter().map(PathBuf::from).collect()
            }
            PermissionUpdate::SetMode { mode, .. } => {
                self.mode = *mode;
                Vec::new()
            }
        }
    }

    /// Names the skills that somebody must agree to unless a rule allows them.
    pub fn ask_about_skills(&mut self, names: impl IntoIterator<Item = String>) {
        self.asked_skills = names.into_iter().collect();
    }

    /// Allows what a command or skill needs, until [`Permissions::end_turn`].
    pub fn allow_for_turn(&mut self, rules: &[String]) {
        let parsed =
            rules.iter().filter_map(|text| Rule::parse(text, Behavior::Allow, Source::Command));
        self.rules.extend(parsed);
    }

    /// Takes back what was allowed for a turn.
    pub fn end_turn(&mut self) {
        self.rules.retain(|rule| rule.source != Source::Command);
    }

    /// All rules, those of the settings first.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether files outside the working directories may not be written, whoever allows it.
    pub fn blocks_writes_outside(&self) -> bool {
        self.block_writes_outside
    }

    /// Whether a tool is gone: a rule forbids all of it.
    pub fn is_removed(&self, tool: &str) -> bool {
        self.whole_tool_rule(Behavior::Deny, tool).is_some()
    }

    /// What is refused before hooks of `PreToolUse` run: a tool that is gone, a file that a rule
    /// forbids.
    pub fn refuse_early(&self, call: Call<'_>, place: &Place) -> Option<Decision> {
        if let Some(rule) = self.whole_tool_rule(Behavior::Deny, call.tool) {
            let text = sentence::no_such_tool(call.tool);
            return Some(Decision::refused(text, false, Reason::Rule(rule.clone())));
        }
        if matches!(call.tool, "Agent" | "Task") {
            return self.refused_agent(call.input);
        }
        self.refused_file(call.tool, call.input, place)
    }

    /// Decides about a call.
    pub fn decide(&self, call: Call<'_>, place: &Place) -> Decision {
        if let Some(decision) = self.refuse_early(call, place) {
            return decision;
        }
        let check = self.check(call, place);
        let asked = self.whole_tool_rule(Behavior::Ask, call.tool);
        let check = match (check, asked) {
            (Check::Allow(_), Some(rule)) => {
                let text = sentence::not_granted(&format!("use {}", call.tool));
                Check::Ask(Ask::by_rule(text, Reason::Rule(rule.clone())))
            }
            (Check::Ask(ask), Some(_)) => {
                // A command about which nothing else is known.
                let bare = call.tool == "Bash" && ask.text == sentence::REQUIRES_APPROVAL;
                let text = if bare { sentence::not_granted("use Bash") } else { ask.text.clone() };
                Check::Ask(Ask { always: true, text, ..ask })
            }
            (check, _) => check,
        };
        match check {
            Check::Deny { text, reason } => Decision::denied(text, reason),
            Check::Allow(reason) => Decision::allowed(match self.mode {
                Mode::BypassPermissions => Reason::Mode(self.mode),
                _ => reason,
            }),
            Check::Ask(ask) if ask.always => self.asked(call.tool, ask),
            Check::Ask(_) if self.mode == Mode::BypassPermissions => {
                Decision::allowed(Reason::Mode(self.mode))
            }
            Check::Ask(ask) => {
                let rule = self.whole_tool_rule(Behavior::Allow, call.tool);
                let plan = ask.reason == Reason::Mode(Mode::Plan);
                // Where a safety check looks at commands, a rule about all of them is none.
                let is_checked =
                    call.tool == "Bash" && matches!(self.mode, Mode::Plan | Mode::Auto);
                match rule.filter(|_| !ask.careful && !plan && !is_checked) {
                    Some(rule) => Decision::allowed(Reason::Rule(rule.clone())),
                    None => self.asked(call.tool, ask),
                }
            }
        }
    }

    /// Decides about a call after hooks of `PreToolUse` said what they think of it. A hook that
    /// allows answers the question, but neither a rule that forbids nor one that asks.
    pub fn decide_after_hooks(&self, call: Call<'_>, place: &Place, answer: &Answer) -> Decision {
        let label = Label { event: Event::PreToolUse, subject: Some(call.tool), id: "" };
        if let Some(text) = answer.refusal(label) {
            return Decision::denied(text.clone(), Reason::Hook(Some(text)));
        }
        let decision = self.decide(call, place);
        match &answer.choice {
            _ if decision.verdict == Verdict::Denied && !self.is_only_the_mode(&decision) => {
                decision
            }
            Some((Choice::Allow, reason)) if decision.verdict != Verdict::Allowed => {
                let check = self.check(call, place);
                // Neither is plan mode a question that a hook could answer.
                let always = matches!(&check, Check::Ask(ask) if ask.always)
                    || decision.reason == Reason::Mode(Mode::Plan)
                    || self.whole_tool_rule(Behavior::Ask, call.tool).is_some();
                if always { decision } else { Decision::allowed(Reason::Hook(reason.clone())) }
            }
            Some((Choice::Allow, reason)) => Decision::allowed(Reason::Hook(reason.clone())),
            Some((Choice::Ask, reason)) => {
                let text = reason.clone().unwrap_or_else(|| {
                    format!("Hook PreToolUse:{} asked for confirmation for this tool", call.tool)
                });
                let reason = Some(reason.clone().unwrap_or_default());
                self.question(call.tool, Ask::by_rule(text, Reason::Hook(reason)))
            }
            // The loop ends the run.
            Some((Choice::Defer | Choice::Deny, _)) | None => decision,
        }
    }

    /// Whether nothing but the mode keeps a call from running.
    fn is_only_the_mode(&self, decision: &Decision) -> bool {
        matches!(decision.reason, Reason::Mode(_) | Reason::AutoMode)
    }

    /// What some rules say, whatever the session is.
    fn of_rules(rules: Vec<Rule>) -> Permissions {
        Permissions {
            rules,
            mode: Mode::Default,
            no_prompts: false,
            block_writes_outside: false,
            asked_skills: Vec::new(),
            has_run_commands: true,
        }
    }

    /// Whether a rule text, such as the `if` of a hook, matches a call.
    pub fn rule_matches(text: &str, call: Call<'_>, place: &Place) -> bool {
        let Some(rule) = Rule::parse(text, Behavior::Allow, Source::Session) else { return false };
        let only = Permissions::of_rules(vec![rule]);
        only.whole_tool_rule(Behavior::Allow, call.tool).is_some()
            || only.content_rule_matches(call, place)
    }

    /// Whether a shell command changes nothing, whatever rules say about it, so that others may
    /// run at the same time. One that changes the directory is no such command.
    pub fn only_looks(command: &str, place: &Place) -> bool {
        let moves = |word: &str| matches!(word, "cd" | "pushd" | "popd");
        let none = Permissions::of_rules(Vec::new());
        !command.split(|c: char| !c.is_alphanumeric()).any(moves)
            && matches!(none.check_bash(command, place), Check::Allow(_))
    }

    /// The rules of one tool.
    pub(crate) fn rules_of(&self, behavior: Behavior, tool: &str) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.behavior == behavior && rule.tool == tool)
    }

    fn whole_tool_rule(&self, behavior: Behavior, tool: &str) -> Option<&Rule> {
        let tool = if tool == "Task" { "Agent" } else { tool };
        self.rules.iter().find(|rule| rule.behavior == behavior && rule.is_about_all_of(tool))
    }

    fn refused_agent(&self, input: &Value) -> Option<Decision> {
        let kind = input.get("subagent_type").and_then(Value::as_str).unwrap_or("general-purpose");
        let rule = self.rules_of(Behavior::Deny, "Agent").find(|rule| {
            rule.content.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(kind))
        })?;
        let kind = rule.content.as_deref().unwrap_or(kind);
        let text = format!(
            "Agent type '{kind}' has been denied by permission rule '{rule}' from {}.",
            rule.source.name()
        );
        Some(Decision::refused(text, false, Reason::Rule(rule.clone())))
    }

    fn check(&self, call: Call<'_>, place: &Place) -> Check {
        match call.tool {
            "Bash" => {
                let command = call.input.get("command").and_then(Value::as_str).unwrap_or_default();
                self.check_bash(command, place)
            }
            "Read" | "Glob" | "Grep" | "LS" => self.check_read(call.tool, call.input, place),
            "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
                self.check_write(call.tool, call.input, place)
            }
            "WebFetch" => self.check_fetch(call.input),
            "Skill" => self.check_skill(call.input),
            // What an agent is told to do is for the safety check to see.
            "Agent" | "Task" if matches!(self.mode, Mode::Plan | Mode::Auto) => {
                Check::Ask(Ask { careful: true, ..Ask::plain(sentence::not_granted("use Agent")) })
            }
            tool if tool.starts_with("mcp__") && self.mode == Mode::Plan => {
                let text = format!("Cannot call {tool} while in plan mode.");
                Check::Ask(Ask { reason: Reason::Mode(Mode::Plan), ..Ask::plain(text) })
            }
            tool if is_never_asked(tool) => Check::Allow(Reason::None),
            tool => {
                let text = sentence::not_granted(&format!("use {tool}"));
                let rule = PermissionUpdate::AddRules {
                    rules: vec![(tool.to_owned(), None)],
                    behavior: Behavior::Allow,
                    destination: Destination::LocalSettings,
                };
                Check::Ask(Ask { rule: Some(rule), ..Ask::plain(text) })
            }
        }
    }

    /// `Skill(name)` and `Skill(name:*)`. Only skills that take more than instructions are asked
    /// about.
    fn check_skill(&self, input: &Value) -> Check {
        let name = input.get("skill").and_then(Value::as_str).unwrap_or_default();
        let name = name.trim().trim_start_matches('/');
        let rule = |behavior| {
            self.rules_of(behavior, "Skill").find(|rule| {
                let content =
                    rule.content.as_deref().map(|content| content.trim_start_matches('/'));
                let prefix = content.map(|content| content.split([':', ' ']).next());
                content == Some(name)
                    || content
                        .is_some_and(|content| content.ends_with(":*") || content.ends_with(" *"))
                        && prefix == Some(Some(name))
            })
        };
        if let Some(rule) = rule(Behavior::Deny) {
            let text = "Skill execution blocked by permission rules".to_owned();
            return Check::Deny { text, reason: Reason::Rule(rule.clone()) };
        }
        if let Some(rule) = rule(Behavior::Allow) {
            return Check::Allow(Reason::Rule(rule.clone()));
        }
        if !self.asked_skills.iter().any(|asked| asked == name) {
            return Check::Allow(Reason::None);
        }
        let is_asked_by_rule = self.rules_of(Behavior::Ask, "Skill").next().is_some();
        let suggestion = PermissionUpdate::AddRules {
            rules: vec![("Skill".to_owned(), Some(name.to_owned()))],
            behavior: Behavior::Allow,
            destination: Destination::LocalSettings,
        };
        let text = sentence::execute_skill(name, !is_asked_by_rule);
        Check::Ask(Ask { rule: Some(suggestion), ..Ask::plain(text) })
    }

    fn content_rule_matches(&self, call: Call<'_>, place: &Place) -> bool {
        match call.tool {
            "Bash" => {
                let command = call.input.get("command").and_then(Value::as_str).unwrap_or_default();
                self.any_part_matches(command, place)
            }
            "WebFetch" => matches!(self.check_fetch(call.input), Check::Allow(_)),
            // Kinds of agents can be forbidden, and that is all.
            "Agent" | "Task" => false,
            tool => {
                let Some(path) = files::path_of(tool, call.input) else { return false };
                let path = place.absolute(path);
                self.rules_of(Behavior::Allow, tool).any(|rule| {
                    rule.content
                        .as_deref()
                        .is_some_and(|content| pattern::matches(content, rule.source, place, &path))
                })
            }
        }
    }

    /// A question, as the mode answers it when nobody does.
    fn asked(&self, tool: &str, ask: Ask) -> Decision {
        let plan = ask.reason == Reason::Mode(Mode::Plan);
        match self.mode {
            Mode::Plan | Mode::Auto if ask.reason == Reason::DangerousRemoval => {
                Decision::denied(sentence::removal_denied(&ask.text), Reason::DangerousRemoval)
            }
            Mode::DontAsk => {
                let mut text = sentence::dont_ask(tool);
                // What a skill would need is said besides.
                if tool == "Skill" {
                    text = format!("{text} {}", ask.text);
                }
                Decision::denied(text, Reason::Mode(Mode::DontAsk))
            }
            Mode::Plan | Mode::Auto if !plan && !ask.always => Decision {
                kind: Some(DenialKind::AutoModeUnavailable),
                ..Decision::denied(sentence::auto_mode_unavailable(tool), Reason::AutoMode)
            },
            _ => self.question(tool, ask),
        }
    }

    /// A question, whatever the mode says about questions.
    fn question(&self, tool: &str, ask: Ask) -> Decision {
        Decision {
            verdict: Verdict::Asked,
            kind: Some(if self.no_prompts {
                DenialKind::PermissionRule
            } else {
                DenialKind::UserRejected
            }),
            text: match self.no_prompts {
                // A question about a command says it all.
                true => sentence::nobody_to_ask(
                    &ask.text,
                    ask.reason.sentence().filter(|_| tool != "Bash"),
                ),
                false => ask.text,
            },
            listed: true,
            can_be_asked: !self.no_prompts,
            suggestions: ask.suggestions,
            rule: ask.rule,
            blocked_path: ask.blocked_path,
            ..Decision::allowed(ask.reason)
        }
    }
}

/// Tools that touch nothing but the session.
fn is_never_asked(tool: &str) -> bool {
    matches!(
        tool,
        "Agent"
            | "ListAgents"
            | "ListMcpResourcesTool"
            | "ReadMcpResourceTool"
            | "SendMessage"
            | "Task"
            | "ToolSearch"
            | "TodoWrite"
            | "TaskCreate"
            | "TaskUpdate"
            | "TaskList"
            | "TaskGet"
            | "TaskStop"
            | "TaskOutput"
            | "BashOutput"
            | "KillShell"
            | "EnterPlanMode"
            | "ExitPlanMode"
            | "AskUserQuestion"
            | "StructuredOutput"
    )
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
