//! Shell commands: every part must be allowed or only look.

use std::path::Path;
use std::path::PathBuf;

use crate::permission::Permissions;
use crate::permission::check::Ask;
use crate::permission::check::Check;
use crate::permission::decision::Reason;
use crate::permission::files::Care;
use crate::permission::files::care;
use crate::permission::mode::Mode;
use crate::permission::place::Place;
use crate::permission::removal;
use crate::permission::rule::Behavior;
use crate::permission::rule::Rule;
use crate::permission::sentence;
use crate::permission::shell::forms;
use crate::permission::shell::operands;
use crate::permission::shell::operands::Operands;
use crate::permission::shell::operands::Use;
use crate::permission::shell::read_only;
use crate::permission::shell::rules;
use crate::permission::shell::script;
use crate::permission::shell::script::Part;
use crate::permission::shell::script::Redirect;
use crate::permission::shell::script::Script;
use crate::permission::shell::word::Word;
use crate::permission::update::Destination;
use crate::permission::update::PermissionUpdate;

/// Builtins that run their words, or change what later words mean.
const EVALUATORS: &[&str] = &[
    "eval",
    "source",
    ".",
    "exec",
    "alias",
    "unalias",
    "trap",
    "enable",
    "mapfile",
    "readarray",
    "bind",
    "complete",
    "compgen",
    "hash",
    "let",
    "set",
    "shopt",
];

/// Commands that `acceptEdits` lets change files in the working directories.
const EDITS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"];

/// Where the parts of a command can run: `cd` may have failed, or not have been reached.
struct Run<'a> {
    place: &'a Place,
    directories: Vec<PathBuf>,
}

impl Run<'_> {
    fn moved(&self) -> bool {
        self.directories.len() > 1
    }

    /// What a word can mean; the last directory first, because it is where the command is
    /// meant to run.
    fn paths<'b>(&'b self, text: &'b str) -> impl Iterator<Item = PathBuf> + 'b {
        self.directories.iter().rev().map(move |directory| self.place.absolute_in(text, directory))
    }
}

impl Permissions {
    pub(crate) fn check_bash(&self, command: &str, place: &Place) -> Check {
        let script = script::parse(command, &place.home.to_string_lossy());
        if let Some(check) = self.bash_denied(command, &script, place) {
            return check;
        }
        let removal = script.everywhere.iter().find_map(|part| removal::dangerous(part, place));
        if let Some(text) = removal {
            let reason = Reason::DangerousRemoval;
            return Check::Ask(Ask { reason, always: true, ..Ask::plain(text) });
        }
        let asked_whole =
            self.bash_rules(Behavior::Ask).find(|(_, content)| rules::matches(content, command));
        if let Some((rule, _)) = asked_whole {
            return Check::Ask(self.asked_by(rule));
        }
        let exact = self
            .bash_rules(Behavior::Allow)
            .find(|(_, content)| rules::is_exactly(content, command));
        if let Some((rule, _)) = exact {
            return Check::Allow(Reason::Rule(rule.clone()));
        }
        if let Some(doubt) = script.doubt {
            // A rule that asks reaches into what cannot be checked.
            if let Some(rule) =
                script.everywhere.iter().find_map(|part| self.part_rule(Behavior::Ask, part))
            {
                return Check::Ask(self.asked_by(rule));
            }
            let mut ask = Ask::plain(sentence::doubt(doubt));
            ask.rule = Some(exact_rule(command));
            return Check::Ask(ask);
        }
        self.check_parts(command, &script, place)
    }

    /// Rules that forbid, and files that rules forbid.
    fn bash_denied(&self, command: &str, script: &Script, place: &Place) -> Option<Check> {
        let whole =
            self.bash_rules(Behavior::Deny).find(|(_, content)| rules::matches(content, command));
        let in_parts = || {
            script
                .everywhere
                .iter()
                .find_map(|part| Some((self.part_rule(Behavior::Deny, part)?, Some(part))))
        };
        let in_files = || {
            script
                .everywhere
                .iter()
                .find_map(|part| Some((self.denied_file(part, place)?, Some(part))))
        };
        let (rule, part) =
            whole.map(|(rule, _)| (rule, None)).or_else(in_parts).or_else(in_files)?;
        // Parts of a pipeline are checked, and named, one by one.
        let named = part.filter(|part| script.is_pipeline && !part.text.is_empty());
        let text = sentence::command_denied(named.map_or(command, |part| &part.text));
        Some(Check::Deny { text, reason: Reason::Subcommands(Some(rule.source)) })
    }

    fn bash_rules(&self, behavior: Behavior) -> impl Iterator<Item = (&Rule, &str)> {
        self.rules_of(behavior, "Bash").filter_map(|rule| Some((rule, rule.content.as_deref()?)))
    }

    fn part_rule(&self, behavior: Behavior, part: &Part) -> Option<&Rule> {
        let forms = match behavior {
            Behavior::Allow => forms::for_allow(part),
            Behavior::Ask | Behavior::Deny => forms::for_deny(part),
        };
        let matches = |content: &str| forms.iter().any(|form| rules::matches(content, form));
        self.bash_rules(behavior).find(|(_, content)| matches(content)).map(|(rule, _)| rule)
    }

    /// A `Read` or `Edit` rule that forbids a file which the command names.
    fn denied_file(&self, part: &Part, place: &Place) -> Option<&Rule> {
        let redirects = part.redirects.iter().find_map(|redirect| {
            let path = place.absolute(redirect.target.text());
            let tool = if redirect.writes { "Edit" } else { "Read" };
            self.file_rule(Behavior::Deny, tool, place, &path)
        });
        if redirects.is_some() {
            return redirects;
        }
        // Wrappers hide neither the command nor its files.
        forms::started(&part.words).into_iter().find_map(|words| {
            let inner = Part { words: words.to_vec(), ..Part::default() };
            operands::of(&inner, true).and_then(|files| self.denied_operand(&files, place))
        })
    }

    fn denied_operand(&self, files: &Operands<'_>, place: &Place) -> Option<&Rule> {
        let last = files.words.len().saturating_sub(1);
        files.words.iter().enumerate().find_map(|(at, word)| {
            let path = place.absolute(operands::path_text(word).unwrap_or(&word.raw));
            let rule = |tool| self.file_rule(Behavior::Deny, tool, place, &path);
            match files.usage {
                Use::Reads => rule("Read"),
                Use::Enters => None,
                // The sources of a copy are read.
                Use::Writes if files.name == "cp" && at < last => rule("Read"),
                Use::Writes => rule("Edit").or_else(|| rule("Read")),
            }
        })
    }

    fn check_parts(&self, command: &str, script: &Script, place: &Place) -> Check {
        let mut run = Run { place, directories: vec![place.cwd.clone()] };
        let mut asks: Vec<(String, Ask)> = Vec::new();
        let uses_git = script.parts.iter().any(|part| name_of(part) == Some("git"));
        for part in &script.parts {
            if let Err(ask) = self.check_part(part, &mut run, uses_git) {
                asks.push((part.text.clone(), *ask));
            }
        }
        // Also where there is one part, and one rule that allows it.
        if asks.is_empty() && !script.parts.is_empty() {
            return Check::Allow(Reason::Subcommands(None));
        }
        // Nothing to run is nothing to allow.
        if asks.is_empty() {
            return Check::Ask(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned()));
        }
        Check::Ask(joined(asks, script, command))
    }

    /// Whether a part may run; a question otherwise.
    fn check_part(&self, part: &Part, run: &mut Run<'_>, uses_git: bool) -> Result<(), Box<Ask>> {
        if let Some(rule) = self.part_rule(Behavior::Ask, part) {
            return Err(Box::new(self.asked_by(rule)));
        }
        for redirect in &part.redirects {
            self.check_redirect(redirect, run)?;
        }
        // Only redirections: of a loop, or `> file` alone.
        if part.words.is_empty() && part.assignments.is_empty() {
            return Ok(());
        }
        let allow = self.part_rule(Behavior::Allow, part);
        let name = name_of(part);
        check_code(name, part)?;
        let edits = match operands::of(part, false) {
            Some(files) => self.check_operands(&files, run, allow.is_some())?,
            None => false,
        };
        if allow.is_some() {
            return Ok(());
        }
        let moves = name == Some("cd");
        // `cd` can make `git` read the settings of another repository.
        let git_elsewhere = uses_git && (moves || (run.moved() && name == Some("git")));
        if !git_elsewhere {
            let accepted = edits
                && self.mode.accepts_edits()
                && part.assignments.is_empty()
                && name.is_some_and(|name| EDITS.contains(&name));
            if accepted || read_only::is_read_only(part) {
                return Ok(());
            }
        }
        Err(Box::new(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned())))
    }

    fn check_redirect(&self, redirect: &Redirect, run: &Run<'_>) -> Result<(), Box<Ask>> {
        let Some(target) = redirect.target.value.as_deref() else {
            return Err(Box::new(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned())));
        };
        if target == "/dev/null" {
            return Ok(());
        }
        for path in run.paths(target) {
            let shown = path.display();
            if redirect.writes {
                let what = format!("Output redirection to '{shown}'");
                self.check_written(&path, what, run, false)?;
            } else if !self.may_read(run.place, &path) {
                let text = sentence::blocked_read(
                    "Input redirection",
                    &shown.to_string(),
                    "read files from",
                    &run.place.listed(),
                );
                return Err(Box::new(Ask {
                    reason: Reason::WorkingDirectory,
                    blocked_path: Some(path),
                    ..Ask::plain(text)
                }));
            }
        }
        Ok(())
    }

    fn may_read(&self, place: &Place, path: &Path) -> bool {
        self.file_rule(Behavior::Ask, "Read", place, path).is_none()
            && (place.is_inside(path)
                || place.is_of_the_session(path)
                || self.file_rule(Behavior::Allow, "Read", place, path).is_some())
    }

    /// Whether a shell command may write a file; a question otherwise.
    fn check_written(
        &self,
        path: &Path,
        what: String,
        run: &Run<'_>,
        by_rule: bool,
    ) -> Result<(), Box<Ask>> {
        let place = run.place;
        let inside = place.is_inside(path);
        let careful = care(place, path) != Care::None;
        let wanted = self.file_rule(Behavior::Ask, "Edit", place, path).is_some();
        let free = !careful && !wanted;
        // A relative path after `cd` is a guess, so only a rule about the command counts.
        if free && inside && (by_rule || (self.mode.accepts_edits() && !run.moved())) {
            return Ok(());
        }
        if free && !run.moved() && self.file_rule(Behavior::Allow, "Edit", place, path).is_some() {
            return Ok(());
        }
        let text = sentence::write_needs_approval(&what, inside, &place.listed());
        let directory = path.parent().unwrap_or(path).display().to_string();
        let mut suggestions = vec![PermissionUpdate::AddDirectories {
            directories: vec![directory],
            destination: Destination::Session,
        }];
        if !self.mode.accepts_edits() {
            suggestions.push(PermissionUpdate::SetMode {
                mode: Mode::AcceptEdits,
                destination: Destination::Session,
            });
        }
        Err(Box::new(Ask {
            suggestions,
            blocked_path: Some(path.to_owned()),
            careful,
            ..Ask::plain(text)
        }))
    }

    /// Whether the command may use the files that it names, and whether it may change them.
    fn check_operands(
        &self,
        files: &Operands<'_>,
        run: &mut Run<'_>,
        by_rule: bool,
    ) -> Result<bool, Box<Ask>> {
        if files.usage == Use::Enters {
            return self.check_enter(files, run).map(|()| false);
        }
        // Files that a rule hides could be behind a pattern.
        let hidden =
            self.rules_of(Behavior::Deny, "Read").chain(self.rules_of(Behavior::Deny, "Edit"));
        let hides = hidden.into_iter().next().is_some();
        for word in &files.words {
            let Some(text) = operands::path_text(word).filter(|_| !(word.glob && hides)) else {
                return Err(Box::new(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned())));
            };
            if text == "-" {
                continue;
            }
            for path in run.paths(text) {
                match files.usage {
                    Use::Writes => {
                        let what = format!("{} in '{}'", files.name, path.display());
                        self.check_written(&path, what, run, by_rule)?;
                    }
                    _ => self.check_looked_at(files, word, &path, run.place)?,
                }
            }
        }
        Ok(files.usage == Use::Writes && !files.words.is_empty() && !run.moved())
    }

    fn check_looked_at(
        &self,
        files: &Operands<'_>,
        word: &Word,
        path: &Path,
        place: &Place,
    ) -> Result<(), Box<Ask>> {
        // Of a pattern, the directory before it decides.
        let known = if word.glob { before_pattern(path) } else { path.to_owned() };
        if self.may_read(place, &known) {
            return Ok(());
        }
        let shown = path.display().to_string();
        let text = sentence::blocked_read(files.name, &shown, files.verb, &place.listed());
        let rule = PermissionUpdate::AddRules {
            rules: vec![(
                "Read".to_owned(),
                Some(format!("/{}/**", path.parent().unwrap_or(path).display())),
            )],
            behavior: Behavior::Allow,
            destination: Destination::Session,
        };
        Err(Box::new(Ask {
            reason: Reason::WorkingDirectory,
            blocked_path: Some(path.to_owned()),
            suggestions: vec![rule],
            ..Ask::plain(text)
        }))
    }

    fn check_enter(&self, files: &Operands<'_>, run: &mut Run<'_>) -> Result<(), Box<Ask>> {
        let requires = || Box::new(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned()));
        let text = match files.words.as_slice() {
            [] => "~",
            [word] if !word.glob => word.value.as_deref().ok_or_else(requires)?,
            _ => return Err(requires()),
        };
        if text == "-" || run.directories.len() > 32 {
            return Err(requires());
        }
        let places: Vec<PathBuf> = run.paths(text).collect();
        for path in &places {
            if !run.place.is_inside(path) {
                let shown = path.display().to_string();
                let text = sentence::blocked_read("cd", &shown, files.verb, &run.place.listed());
                return Err(Box::new(Ask {
                    reason: Reason::WorkingDirectory,
                    blocked_path: Some(path.clone()),
                    ..Ask::plain(text)
                }));
            }
        }
        run.directories.extend(places);
        Ok(())
    }

    fn asked_by(&self, rule: &Rule) -> Ask {
        Ask::by_rule(sentence::not_granted("use Bash"), Reason::Rule(rule.clone()))
    }
}

/// The part of a path before its first pattern.
fn before_pattern(path: &Path) -> PathBuf {
    path.iter().take_while(|name| !name.to_string_lossy().contains(['*', '?', '['])).collect()
}

fn name_of(part: &Part) -> Option<&str> {
    part.words.first().and_then(|word| word.value.as_deref())
}

/// Commands that run their words, which no prefix rule can mean.
fn check_code(name: Option<&str>, part: &Part) -> Result<(), Box<Ask>> {
    let Some(name) = name else { return Ok(()) };
    if EVALUATORS.contains(&name) {
        return Err(Box::new(Ask::plain(sentence::evaluates(name))));
    }
    let values: Vec<&str> = part.words.iter().skip(1).map(Word::text).collect();
    match name {
        "find" => match read_only::harmful_find_flag(&values) {
            Some(flag) => Err(Box::new(Ask::plain(sentence::find_executes(flag)))),
            None => Ok(()),
        },
        "awk" | "gawk" | "mawk" if values.iter().any(|word| word.contains("system(")) => {
            Err(Box::new(Ask::plain(sentence::AWK_SYSTEM.to_owned())))
        }
        _ => Ok(()),
    }
}

/// One question for all parts that need one.
fn joined(mut asks: Vec<(String, Ask)>, script: &Script, command: &str) -> Ask {
    let always = asks.iter().any(|(_, ask)| ask.always);
    let careful = asks.iter().any(|(_, ask)| ask.careful);
    let rule = Some(match script.parts.as_slice() {
        [part] => suggested_rule(part, command),
        _ => exact_rule(command),
    });
    if asks.len() == 1 && !script.is_pipeline {
        let (_, ask) = asks.swap_remove(0);
        return Ask { rule, ..ask };
    }
    let texts: Vec<String> =
        asks.iter().map(|(text, _)| text.clone()).filter(|text| !text.is_empty()).collect();
    let first = asks.swap_remove(0).1;
    let source = match &first.reason {
        Reason::Rule(rule) => Some(rule.source),
        _ => None,
    };
    Ask {
        text: sentence::parts(&texts),
        reason: Reason::Subcommands(source),
        always,
        careful,
        rule,
        ..first
    }
}

fn exact_rule(command: &str) -> PermissionUpdate {
    bash_rule(command.trim().to_owned())
}

fn bash_rule(content: String) -> PermissionUpdate {
    PermissionUpdate::AddRules {
        rules: vec![("Bash".to_owned(), Some(content))],
        behavior: Behavior::Allow,
        destination: Destination::LocalSettings,
    }
}

/// `git push *` for a command with a subcommand, else the text itself.
fn suggested_rule(part: &Part, command: &str) -> PermissionUpdate {
    let is_subcommand = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    match part.words.as_slice() {
        [name, second, ..]
            if part.assignments.is_empty()
                && name.is_plain()
                && second.is_plain()
                && is_subcommand(&second.raw) =>
        {
            bash_rule(format!("{} {} *", name.raw, second.raw))
        }
        _ => exact_rule(command),
    }
}

impl Permissions {
    /// Whether a rule that allows matches a part of a command: the `if` of hooks.
    pub(crate) fn any_part_matches(&self, command: &str, place: &Place) -> bool {
        let script = script::parse(command, &place.home.to_string_lossy());
        self.bash_rules(Behavior::Allow).any(|(_, content)| {
            rules::matches(content, command)
                || script.everywhere.iter().any(|part| {
                    forms::for_deny(part).iter().any(|form| rules::matches(content, form))
                })
        })
    }
}
