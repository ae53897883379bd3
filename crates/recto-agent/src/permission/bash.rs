//! Shell commands: every part must be allowed or only look.

use std::path::Path;
use std::path::PathBuf;

use crate::permission::Permissions;
use crate::permission::check::Ask;
use crate::permission::check::Check;
use crate::permission::code;
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
use crate::permission::shell::script::Doubt;
use crate::permission::shell::script::Part;
use crate::permission::shell::script::Redirect;
use crate::permission::shell::script::Script;
use crate::permission::shell::sed;
use crate::permission::shell::word::Word;
use crate::permission::update::Destination;
use crate::permission::update::PermissionUpdate;

/// Commands that `acceptEdits` lets change files in the working directories.
const EDITS: &[&str] = &["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"];

/// Commands that change a file whatever is in it.
const WITHOUT_READING: &[&str] = &["mkdir", "touch", "rm", "rmdir", "tee"];

/// Where the parts of a command can run: `cd` may have failed, or not have been reached.
struct Run<'a> {
    place: &'a Place,
    directories: Vec<PathBuf>,
    /// Whether any part changes the directory, also a later one.
    moves: bool,
    /// Whether one of them goes anywhere else.
    leaves: bool,
    /// Whether a variable of a loop changes while it runs.
    loops: bool,
    /// Whether it is one simple command.
    alone: bool,
}

impl Run<'_> {
    /// What a word can mean; the directory of the session first.
    fn paths<'b>(&'b self, text: &'b str) -> impl Iterator<Item = PathBuf> + 'b {
        self.directories.iter().map(move |directory| self.place.absolute_in(text, directory))
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
        let denied = |part: &Part| self.part_rule(Behavior::Deny, part).is_some();
        let hidden =
            script.everywhere.iter().any(|part| removal::any_in_shell(part, place, &denied));
        if hidden || script.is_torn {
            let text = if hidden { sentence::DENIED_IN_SHELL } else { sentence::READ_DIFFERENTLY };
            return Check::Ask(Ask { always: true, ..Ask::plain(text.to_owned()) });
        }
        // Parts of a pipeline are asked about, and named, one by one.
        let asked_whole = self
            .bash_rules(Behavior::Ask)
            .filter(|_| script.parts.len() <= 1 || script.doubt.is_some())
            .find(|(_, content)| rules::matches(content.trim(), command));
        if let Some((rule, _)) = asked_whole {
            return Check::Ask(self.asked_by(rule));
        }
        let exact = self
            .bash_rules(Behavior::Allow)
            .find(|(_, content)| rules::is_exactly(content, command));
        if let Some((rule, _)) = exact {
            let outside =
                |ask: &Ask| ask.blocked_path.as_ref().is_some_and(|path| !place.is_inside(path));
            // A rule about the command is no rule about files elsewhere.
            return match self.check_parts(command, &script, place) {
                denied @ Check::Deny { .. } => denied,
                // Nor is one about a whole about a file that a single part writes.
                Check::Ask(ask)
                    if script.doubt.is_none()
                        && script.parts.len() > 1
                        && ask.blocked_path.is_some()
                        && !matches!(ask.reason, Reason::Subcommands(_)) =>
                {
                    Check::Ask(ask)
                }
                Check::Ask(ask) if ask.always || (script.doubt.is_none() && outside(&ask)) => {
                    Check::Ask(ask)
                }
                _ => Check::Allow(Reason::Rule(rule.clone())),
            };
        }
        if let Some(doubt) = script.doubt {
            let mut ask = Ask::plain(sentence::doubt(doubt));
            // A rule that asks reaches into what cannot be checked.
            let asked =
                script.everywhere.iter().find_map(|part| self.part_rule(Behavior::Ask, part));
            if let Some(rule) = asked {
                ask = Ask::by_rule(ask.text, Reason::Rule(rule.clone()));
            }
            ask.rule = Some(exact_rule(command));
            return Check::Ask(ask);
        }
        self.check_parts(command, &script, place)
    }

    /// Rules that forbid, and files that rules forbid.
    fn bash_denied(&self, command: &str, script: &Script, place: &Place) -> Option<Check> {
        let whole = || {
            self.bash_rules(Behavior::Deny)
                .find(|(_, content)| rules::matches(content.trim(), command))
        };
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
        let whole = || whole().map(|(rule, _)| (rule, None));
        let (rule, part) = in_parts().or_else(whole).or_else(in_files)?;
        // Parts of a pipeline are checked, and named, one by one.
        let named = part.filter(|part| script.is_pipeline && !part.text.is_empty());
        let text = sentence::command_denied(named.map_or(command.trim(), |part| &part.text));
        Some(Check::Deny { text, reason: Reason::Subcommands(Some(rule.source)) })
    }

    /// Where a safety check looks at commands, a rule about all of them is none.
    fn bash_rules(&self, behavior: Behavior) -> impl Iterator<Item = (&Rule, &str)> {
        let is_checked =
            behavior == Behavior::Allow && matches!(self.mode, Mode::Plan | Mode::Auto);
        self.rules_of(behavior, "Bash")
            .filter_map(|rule| Some((rule, rule.content.as_deref()?)))
            .filter(move |(_, content)| !(is_checked && rules::allows_anything(content)))
    }

    fn part_rule(&self, behavior: Behavior, part: &Part) -> Option<&Rule> {
        let any = |content: &str, forms: &[String]| {
            forms.iter().any(|form| rules::matches(content, form))
        };
        let found = match behavior {
            Behavior::Allow => {
                let forms = forms::for_allow(part);
                self.bash_rules(behavior).find(|(_, content)| match rules::is_pattern(content) {
                    true => any(content, &forms.plain),
                    false => any(content, &forms.written),
                })
            }
            Behavior::Ask | Behavior::Deny => {
                let forms = forms::for_deny(part);
                self.bash_rules(behavior).find(|(_, content)| any(content.trim(), &forms))
            }
        };
        found.map(|(rule, _)| rule)
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
            let files = operands::of(&inner, true)?;
            self.denied_operand(&files, place, &place.cwd).map(|(rule, _)| rule)
        })
    }

    fn denied_operand(
        &self,
        files: &Operands<'_>,
        place: &Place,
        directory: &Path,
    ) -> Option<(&Rule, PathBuf)> {
        let last = files.words.len().saturating_sub(1);
        files.words.iter().enumerate().find_map(|(at, word)| {
            let guess = guessed(&word.raw);
            let text = operands::path_text(word).unwrap_or(&guess);
            let path = place.absolute_in(text, directory);
            let rule = |tool| self.file_rule(Behavior::Deny, tool, place, &path);
            let rule = match files.usage {
                Use::Reads => rule("Read"),
                Use::Enters => None,
                // The sources of a copy are read.
                Use::Writes if matches!(files.name, "cp" | "mv") && at < last => {
                    rule("Read").or_else(|| rule("Edit"))
                }
                // What is in the file does not matter.
                Use::Writes if WITHOUT_READING.contains(&files.name) => rule("Edit"),
                Use::Writes => rule("Edit").or_else(|| rule("Read")),
            };
            rule.map(|rule| (rule, path))
        })
    }

    fn check_parts(&self, command: &str, script: &Script, place: &Place) -> Check {
        let names = || script.parts.iter().map(forms::innermost);
        let moves = names().filter(|part| name_of(part) == Some("cd")).count();
        let mut run = Run {
            place,
            directories: vec![place.cwd.clone()],
            moves: moves > 0,
            leaves: names().any(|part| name_of(&part) == Some("cd") && leaves(&part, place)),
            loops: script.loops,
            alone: script.parts.len() == 1,
        };
        if let Some(check) = self.denied_elsewhere(script, &run) {
            return check;
        }
        if let Some(name) = &script.odd_variable {
            return Check::Ask(Ask::plain(sentence::loop_variable(name)));
        }
        let mut asks: Vec<(String, Ask)> = Vec::new();
        let mut sets = 0;
        for part in &script.parts {
            if let Err(ask) = self.check_part(part, &mut run) {
                sets += usize::from(is_only_set(part));
                asks.push((part.text.clone(), *ask));
            }
        }
        if !asks.iter().any(|(_, ask)| ask.always || ask.careful) {
            let uses_git = names().any(|part| name_of(&part) == Some("git"));
            let elsewhere =
                names().any(|part| name_of(&part) == Some("cd") && leaves(&part, place));
            let text = match moves {
                0 => None,
                // `cd` can make `git` read the settings of another repository.
                _ if uses_git && elsewhere => Some(sentence::MOVES_AND_VERSIONS),
                1 => None,
                _ => Some(sentence::MOVES_TWICE),
            };
            if let Some(text) = text {
                let rule = Some(exact_rule(command));
                return Check::Ask(Ask { rule, ..Ask::plain(text.to_owned()) });
            }
        }
        if asks.is_empty() && script.loops_oddly {
            return Check::Ask(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned()));
        }
        // Which variables the shell has is not known before it has run.
        let sets_some = script.loops || script.parts.iter().any(is_only_set);
        if asks.is_empty() && sets_some && !self.has_run_commands {
            let rule = Some(exact_rule(command));
            return Check::Ask(Ask { rule, ..Ask::plain(sentence::VARIABLE_SET.to_owned()) });
        }
        if asks.is_empty() && script.in_background {
            let rule = Some(exact_rule(command));
            // What rules forbid could be started behind their back. And a rule that allows
            // everything is not needed for anything else in it.
            let everything = self.whole_tool_rule(Behavior::Allow, "Bash").is_some()
                && !matches!(self.mode, Mode::Plan | Mode::Auto | Mode::BypassPermissions);
            let always = everything || self.bash_rules(Behavior::Deny).next().is_some();
            let ask = Ask::plain(sentence::doubt(Doubt::Background));
            return Check::Ask(Ask { rule, always, ..ask });
        }
        // Variables that are set for what follows: none of it is known then.
        let others = script.parts.iter().filter(|part| !is_only_set(part)).count();
        let plain = asks.iter().all(|(_, ask)| !ask.always && !ask.careful);
        if sets > 0 && plain && (sets == asks.len() || others <= 1) {
            let rule = Some(exact_rule(command));
            return Check::Ask(Ask { rule, ..Ask::plain(sentence::REQUIRES_APPROVAL.to_owned()) });
        }
        // Only redirections are nothing that a rule could mean.
        let bare = |part: &Part| part.words.is_empty() && part.assignments.is_empty();
        if asks.is_empty() && script.parts.iter().all(bare) && !script.parts.is_empty() {
            return Check::Ask(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned()));
        }
        // Also where there is one part, and one rule that allows it.
        if asks.is_empty() && !script.parts.is_empty() {
            return Check::Allow(Reason::Subcommands(None));
        }
        // Blank lines and comments do nothing.
        if asks.is_empty() && !command.is_empty() {
            return Check::Allow(Reason::None);
        }
        if asks.is_empty() {
            return Check::Ask(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned()));
        }
        // What is set is not what is asked about.
        let mut rest = script.parts.iter().filter(|part| !is_only_set(part));
        if sets > 0 && rest.next().is_some() {
            let set: Vec<&str> = script
                .parts
                .iter()
                .filter(|part| is_only_set(part))
                .map(|part| &*part.text)
                .collect();
            asks.retain(|(text, _)| !set.contains(&text.as_str()));
        }
        Check::Ask(joined(asks, script, command))
    }

    /// A file that a rule hides, seen from a directory that the command goes to.
    fn denied_elsewhere(&self, script: &Script, run: &Run<'_>) -> Option<Check> {
        let places: Vec<PathBuf> = script
            .parts
            .iter()
            .filter(|part| name_of(part) == Some("cd"))
            .filter_map(|part| part.words.get(1)?.value.as_deref())
            .map(|text| run.place.absolute(text))
            .collect();
        script.parts.iter().find_map(|part| {
            let inner = forms::innermost(part);
            let files = operands::of(&inner, true).filter(|files| files.usage != Use::Enters)?;
            places.iter().find_map(|directory| {
                let (rule, path) = self.denied_operand(&files, run.place, directory)?;
                let writes = files.usage == Use::Writes;
                let text = sentence::denied_path(files.name, &path.display().to_string(), writes);
                Some(Check::Deny { text, reason: Reason::Rule(rule.clone()) })
            })
        })
    }

    /// Whether a part may run; a question otherwise.
    fn check_part(&self, part: &Part, run: &mut Run<'_>) -> Result<(), Box<Ask>> {
        if let Some(rule) = self.part_rule(Behavior::Ask, part) {
            return Err(Box::new(self.asked_by(rule)));
        }
        code::check(part)?;
        for redirect in &part.redirects {
            self.check_redirect(redirect, run)?;
        }
        // Only redirections: of a loop, or `> file` alone.
        if part.words.is_empty() && part.assignments.is_empty() {
            return Ok(());
        }
        let requires = || Box::new(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned()));
        // Which program a pattern would start is not known.
        if part.words.first().is_some_and(|name| name.glob) {
            return Err(requires());
        }
        if part.words.is_empty() {
            return if is_harmless_assignment(part, run) { Ok(()) } else { Err(requires()) };
        }
        let allow = self.part_rule(Behavior::Allow, part);
        let inner = forms::innermost(part);
        let edits = match operands::of(&inner, false) {
            Some(files) => self.check_operands(&files, run, allow.is_some())?,
            None => false,
        };
        if allow.is_some() {
            return Ok(());
        }
        let name = name_of(&inner);
        if name == Some("sed") && !read_only::is_read_only(&inner) {
            let words = inner.words.get(1..).unwrap_or_default();
            if !sed::only_replaces(words) {
                return Err(Box::new(Ask::plain(sentence::SED_SCRIPT.to_owned())));
            }
        }
        let names_none = inner.words.iter().skip(1).all(|word| word.text().starts_with('-'));
        let accepted = (edits || (names_none && !run.moves && name != Some("sed")))
            && self.mode.accepts_edits()
            && forms::has_safe_assignments(part)
            && name.is_some_and(|name| EDITS.contains(&name))
            && (name != Some("touch") || is_plain_touch(part));
        // With variables that are not known, nothing is known to only look.
        let is_known = self.has_run_commands || !run.loops;
        if accepted || (is_known && read_only::is_read_only(part)) {
            return Ok(());
        }
        match name {
            Some("sed") => Err(Box::new(Ask::plain(sentence::SED_SCRIPT.to_owned()))),
            _ => Err(requires()),
        }
    }

    fn check_redirect(&self, redirect: &Redirect, run: &Run<'_>) -> Result<(), Box<Ask>> {
        let Some(target) = redirect.target.value.as_deref() else {
            return Err(Box::new(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned())));
        };
        if target == "/dev/null" {
            return Ok(());
        }
        if target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/") {
            return Err(Box::new(Ask::plain(sentence::NETWORK_REDIRECT.to_owned())));
        }
        for path in run.paths(target) {
            let shown = path.display();
            if operands::traverses(target) && run.place.is_inside(&path) {
                return Err(Box::new(Ask::plain(sentence::TRAVERSAL.to_owned())));
            }
            if redirect.writes {
                let what = format!("Output redirection to '{shown}'");
                // The shell replaces it before it opens the file.
                let plain = !redirect.target.raw.starts_with('~');
                match self.check_written(&path, what, "write via output redirection", run, false) {
                    Err(ask) if !plain && !ask.careful => {
                        let text = sentence::EXPANSION_IN_PATH.to_owned();
                        return Err(Box::new(Ask { text, ..*ask }));
                    }
                    Ok(()) if !plain => {
                        let text = sentence::EXPANSION_IN_PATH.to_owned();
                        return Err(Box::new(Ask::plain(text)));
                    }
                    checked => checked?,
                }
            } else if !self.may_read(run.place, &path) {
                let text = sentence::blocked_input(&shown.to_string(), &run.place.listed());
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
        doing: &str,
        run: &Run<'_>,
        by_rule: bool,
    ) -> Result<(), Box<Ask>> {
        let place = run.place;
        let inside = place.is_inside(path);
        let care = care(place, path);
        let careful = care != Care::None;
        let wanted = self.file_rule(Behavior::Ask, "Edit", place, path).is_some();
        let free = !careful && !wanted && !run.moves;
        if free && inside && (by_rule || self.mode.accepts_edits()) {
            return Ok(());
        }
        if free && self.file_rule(Behavior::Allow, "Edit", place, path).is_some() {
            return Ok(());
        }
        let text = match care {
            // A relative path after `cd` is a guess, whatever a rule says about the command.
            _ if run.moves => sentence::moves_and(doing),
            Care::None => sentence::write_needs_approval(&what, inside, &place.listed()),
            Care::Settings => sentence::not_granted(&format!("write to {}", path.display())),
            Care::Sensitive => sentence::sensitive(&path.display().to_string()),
        };
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
        let plain = |text: &str| Err(Box::new(Ask::plain(text.to_owned())));
        // Quotes are no excuse: what a program makes of a name is its own affair.
        let has = |letters: &[char]| files.words.iter().any(|word| word.text().contains(letters));
        if files.usage == Use::Writes
            && (files.words.iter().any(|word| word.glob) || has(&['*', '?', '[', ']']))
        {
            return plain(sentence::PATTERN_IN_WRITE);
        }
        if files.usage == Use::Writes && has(&['{', '}']) {
            return plain(sentence::BRACES_IN_WRITE);
        }
        if files.usage == Use::Writes && files.is_flagged && matches!(files.name, "cp" | "mv") {
            return plain(&sentence::with_flags(files.name));
        }
        // Files that a rule hides could be behind a pattern.
        let hidden =
            self.rules_of(Behavior::Deny, "Read").chain(self.rules_of(Behavior::Deny, "Edit"));
        let hides = hidden.into_iter().next().is_some();
        let forbids = self.rules_of(Behavior::Deny, "Read").any(|rule| rule.content.is_some());
        let guesses = files.usage == Use::Reads && run.leaves && forbids;
        // Without a word it lists the directory that it is in.
        if guesses && files.name == "ls" && files.words.is_empty() {
            return plain(&sentence::reads_after_moving(files.name));
        }
        // What is asked about a file inside says less than what is asked about another one.
        let mut inside: Option<Box<Ask>> = None;
        for word in &files.words {
            let Some(text) = operands::path_text(word).filter(|_| !(word.glob && hides)) else {
                return Err(Box::new(Ask::plain(sentence::REQUIRES_APPROVAL.to_owned())));
            };
            if text == "-" {
                continue;
            }
            if text.contains('$') {
                return plain(sentence::EXPANSION_IN_PATH);
            }
            if is_environment(text) {
                return plain(sentence::ENVIRONMENT_OF_PROCESS);
            }
            if operands::traverses(text) && run.paths(text).all(|path| run.place.is_inside(&path)) {
                return plain(sentence::TRAVERSAL);
            }
            // A rule could hide it, wherever the command is by then.
            let relative = !text.starts_with('/') && !text.starts_with('~');
            if guesses && relative {
                return plain(&sentence::reads_after_moving(files.name));
            }
            // Some systems keep other machines there.
            if text.starts_with("//") && files.usage == Use::Reads {
                let listed = run.place.listed();
                return plain(&sentence::blocked_read(files.name, text, files.verb, &listed));
            }
            for path in run.paths(text) {
                match files.usage {
                    Use::Writes => {
                        // As it is spelled: a slash at the end stays.
                        let ends = text.ends_with('/') && text.len() > 1;
                        let slash =
                            if ends && matches!(files.name, "cp" | "mv") { "/" } else { "" };
                        let what = format!("{} in '{}{slash}'", files.name, path.display());
                        let doing = "perform write operations";
                        match self.check_written(&path, what, doing, run, by_rule) {
                            Ok(()) => {}
                            Err(ask) if ask.careful || !run.place.is_inside(&path) => {
                                return Err(ask);
                            }
                            Err(ask) => inside = inside.or(Some(ask)),
                        }
                    }
                    _ => self.check_looked_at(files, word, &path, run.place)?,
                }
            }
        }
        if let Some(ask) = inside {
            return Err(ask);
        }
        Ok(files.usage == Use::Writes && !files.words.is_empty() && !run.moves)
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
            [_, _, ..] => return Err(Box::new(Ask::plain(sentence::TWO_TARGETS.to_owned()))),
            [] => "~",
            [word] if !word.glob => word.value.as_deref().ok_or_else(requires)?,
            _ => return Err(requires()),
        };
        if text == "-" || run.directories.len() > 32 {
            return Err(requires());
        }
        if operands::traverses(text) {
            return Err(Box::new(Ask::plain(sentence::TRAVERSAL.to_owned())));
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

/// `/proc/1/environ`: the variables of a program.
fn is_environment(text: &str) -> bool {
    let rest = text.strip_prefix("/proc/").and_then(|rest| rest.split_once('/'));
    rest.is_some_and(|(_, file)| file == "environ")
}

/// The part of a path before its first pattern.
fn before_pattern(path: &Path) -> PathBuf {
    path.iter().take_while(|name| !name.to_string_lossy().contains(['*', '?', '['])).collect()
}

/// A path with a variable, as the shell most likely reads it.
fn guessed(raw: &str) -> String {
    raw.replace(['"', '\''], "").replace("${PWD}", ".").replace("$PWD", ".")
}

/// `x=1` alone: it sets a variable of a shell that ends at once. Some change how the shell itself
/// works.
fn is_harmless_assignment(part: &Part, run: &Run<'_>) -> bool {
    const OF_THE_SHELL: &[&str] =
        &["PATH", "IFS", "HOME", "ENV", "BASH_ENV", "CDPATH", "LANG", "_", "SHELLOPTS", "PS4"];
    let [(name, value)] = part.assignments.as_slice() else { return false };
    let plain = !value.raw.starts_with('~') && value.value.is_some();
    let known = OF_THE_SHELL.contains(&name.as_str())
        || name.starts_with("LD_")
        || name.starts_with("LC_")
        || name.starts_with("DYLD_");
    plain && !known && run.alone && part.redirects.is_empty()
}

/// `touch` is allowed as it is written: its flags name other files and times.
fn is_plain_touch(part: &Part) -> bool {
    part.words.first().is_some_and(|name| name.raw == "touch")
        && part.assignments.is_empty()
        && !part.words.iter().any(|word| word.text().starts_with('-') || word.text().is_empty())
}

/// `x=1` alone.
fn is_only_set(part: &Part) -> bool {
    part.words.is_empty() && !part.assignments.is_empty()
}

/// Whether `cd` goes anywhere else.
fn leaves(part: &Part, place: &Place) -> bool {
    // Only a path that is written out is taken for the same directory.
    let target = part.words.get(1).filter(|word| word.is_plain() && !word.raw.starts_with('~'));
    target.is_none_or(|word| place.absolute(word.text()) != place.cwd)
}

fn name_of(part: &Part) -> Option<&str> {
    part.words.first().and_then(|word| word.value.as_deref())
}

/// One question for all parts that need one.
fn joined(mut asks: Vec<(String, Ask)>, script: &Script, command: &str) -> Ask {
    let always = asks.iter().any(|(_, ask)| ask.always);
    let careful = asks.iter().any(|(_, ask)| ask.careful);
    let rule = Some(match script.parts.as_slice() {
        [part] => suggested_rule(part, command),
        _ => exact_rule(command),
    });
    // What is asked about one part says which, unless it says nothing.
    let is_alone = script.parts.len() == 1
        || asks.first().is_some_and(|(_, ask)| ask.text != sentence::REQUIRES_APPROVAL);
    if asks.len() == 1 && is_alone && !script.is_pipeline {
        let (_, ask) = asks.swap_remove(0);
        return Ask { rule, ..ask };
    }
    let mut texts: Vec<String> = Vec::new();
    for (text, _) in asks.iter().filter(|(text, _)| !text.is_empty()) {
        if !texts.contains(text) {
            texts.push(text.clone());
        }
    }
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
            script.everywhere.is_empty() && rules::matches(content, command)
                || script.everywhere.iter().any(|part| {
                    forms::for_deny(part).iter().any(|form| rules::matches(content.trim(), form))
                })
        })
    }
}
