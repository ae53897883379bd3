//! `Skill`: instructions that the user keeps in files.
//!
//! Owns: finding them, and filling in what a call gives them.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::offer::AgentType;
use super::offer::Skill;
use super::outcome::Note;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const ABOUT: &str = "Launches a skill: the user's instructions for a kind of task. The instructions follow the result.";

pub(super) const SCHEMA: Schema = Schema::open(&[
    Field::required("skill", Kind::String, "Its name"),
    Field::optional("args", Kind::String, "Its arguments"),
]);

/// Commands of the client itself, which users type and models cannot call.
const BUILT_IN: [&str; 11] = [
    "agents",
    "checkpoint",
    "clear",
    "compact",
    "context",
    "keybindings",
    "new",
    "output-style",
    "reload-plugins",
    "reset",
    "rewind",
];

/// Commands that show something to the user.
const SHOWN_ONLY: [&str; 43] = [
    "add-dir",
    "allowed-tools",
    "branch",
    "btw",
    "bug",
    "color",
    "config",
    "continue",
    "copy",
    "cost",
    "diff",
    "effort",
    "exit",
    "export",
    "fast",
    "feedback",
    "fork",
    "help",
    "hooks",
    "ide",
    "login",
    "logout",
    "mcp",
    "memory",
    "mobile",
    "model",
    "passes",
    "permissions",
    "plan",
    "plugin",
    "quit",
    "release-notes",
    "rename",
    "resume",
    "sandbox",
    "settings",
    "skills",
    "stats",
    "status",
    "tasks",
    "terminal-setup",
    "theme",
    "usage",
];

fn wanted<'a>(call: &'a Call<'_>) -> &'a str {
    let name = call.text("skill").trim();
    name.strip_prefix('/').unwrap_or(name)
}

fn find(call: &Call<'_>) -> Option<Skill> {
    let name = wanted(call);
    call.session.offer.get().skills.iter().find(|skill| skill.name == name).cloned()
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    let name = wanted(call);
    if name.is_empty() {
        return Err(ToolOutcome::refused(format!("Invalid skill format: {}", call.text("skill"))));
    }
    if let Some(skill) = find(call) {
        return if skill.is_for_users { Err(only_for_users(name)) } else { Ok(()) };
    }
    Err(ToolOutcome::refused(if BUILT_IN.contains(&name) {
        format!(
            "{name} is a built-in CLI command, not a skill. Ask the user to run /{name} \
             themselves — it cannot be invoked via the Skill tool."
        )
    } else if SHOWN_ONLY.contains(&name) {
        format!(
            "{name} is a UI command, not a skill. Ask the user to run /{name} themselves — it \
             cannot be invoked via the Skill tool."
        )
    } else {
        let offer = call.session.offer.get();
        let skills = offer.skills.iter().map(|skill| skill.name.as_str());
        let hint = meant(name, skills.chain(BUILT_IN).chain(SHOWN_ONLY));
        let hint = hint.map_or_else(String::new, |known| format!(". Did you mean {known}?"));
        format!("Unknown skill: {name}{hint}")
    }))
}

/// How many letters of a name may be wrong.
const MOST_WRONG: usize = 2;

/// The name that is meant by one that nothing has.
fn meant<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let near = known.map(|known| (recto_store::distance(&name, &known.to_lowercase()), known));
    let near = near.filter(|(wrong, known)| *wrong <= MOST_WRONG && *wrong < known.len());
    near.min_by_key(|(wrong, _)| *wrong).map(|(_, known)| known)
}

fn only_for_users(name: &str) -> ToolOutcome {
    ToolOutcome::refused(format!(
        "Skill {name} cannot be used with Skill tool due to disable-model-invocation. Ask the user \
         to run /{name} themselves — it cannot be invoked via the Skill tool. Do not replicate \
         this skill's workflow by other means — it is reserved for explicit user invocation."
    ))
}

pub(super) fn run(call: &Call<'_>) -> ToolOutcome {
    let Some(skill) = find(call) else {
        return ToolOutcome::refused(format!("Unknown skill: {}", wanted(call)));
    };
    let name = &skill.name;
    let is_again = !call.session.state().launched.insert(name.clone());
    let mut structured = json!({"success": true, "commandName": name});
    if let Some(fields) = structured.as_object_mut().filter(|_| !skill.allowed.is_empty()) {
        fields.insert("allowedTools".into(), json!(skill.allowed));
    }
    let mut outcome = ToolOutcome::text(format!("Launching skill: {name}"), structured);
    if is_again {
        outcome = outcome.with_note(Note::User(format!(
            "(Re-invocation of /{name} — the skill instructions were previously loaded; the \
             arguments or dynamic output below are new.)\n"
        )));
    }
    let allowed = json!({"type": "command_permissions", "allowedTools": skill.allowed});
    outcome
        .with_note(Note::User(filled_skill(&skill, call.text("args"))))
        .with_note(Note::Attached(allowed, None))
}

/// What the model reads of a skill that was launched with arguments.
#[must_use]
pub fn filled_skill(skill: &Skill, arguments: &str) -> String {
    let body = filled(skill, arguments);
    match &skill.directory {
        directory if directory.as_os_str().is_empty() => body,
        directory => format!("Base directory for this skill: {}\n\n{body}", directory.display()),
    }
}

/// The body with arguments in the places that it has for them, or behind it.
fn filled(skill: &Skill, arguments: &str) -> String {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let directory = skill.directory.to_string_lossy();
    let mut filled = String::with_capacity(skill.body.len());
    let mut rest = skill.body.as_str();
    let mut has_place = false;
    while let Some(at) = rest.find('$') {
        let (before, place) = rest.split_at(at);
        filled.push_str(before);
        let behind = &place[1..];
        if let Some(behind) = behind.strip_prefix("{CLAUDE_SKILL_DIR}") {
            filled.push_str(&directory);
            rest = behind;
        } else if let Some(behind) = behind.strip_prefix("ARGUMENTS") {
            has_place = true;
            rest = match numbered(behind) {
                Some((number, behind)) => {
                    filled.push_str(words.get(number).copied().unwrap_or_default());
                    behind
                }
                None => {
                    filled.push_str(arguments);
                    behind
                }
            };
        } else if behind.starts_with(|c: char| c.is_ascii_digit()) {
            has_place = true;
            let length = behind.bytes().take_while(u8::is_ascii_digit).count();
            let (number, behind) = behind.split_at(length);
            let word = number.parse::<usize>().ok().and_then(|at| words.get(at));
            filled.push_str(word.copied().unwrap_or_default());
            rest = behind;
        } else {
            filled.push('$');
            rest = behind;
        }
    }
    filled.push_str(rest);
    if !has_place && !arguments.is_empty() {
        filled.push_str(&format!("\n\nARGUMENTS: {arguments}"));
    }
    filled
}

/// The number in `[1]`, and what is behind it.
fn numbered(text: &str) -> Option<(usize, &str)> {
    let (number, behind) = text.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, behind))
}

/// A file with front matter: its fields, and the text behind them.
pub(crate) fn front_matter(text: &str) -> (Vec<(String, String)>, &str) {
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return (Vec::new(), text);
    };
    let Some(end) = rest.find("\n---") else { return (Vec::new(), text) };
    let (head, body) = rest.split_at(end);
    let body = body.strip_prefix("\n---").unwrap_or(body);
    let body = body.split_once('\n').map_or("", |(_, body)| body);
    let plain = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in head.lines() {
        // A list is one value with commas, or a line for each.
        if let (Some(item), Some((_, list))) = (line.trim().strip_prefix("- "), fields.last_mut()) {
            if !list.is_empty() {
                list.push_str(", ");
            }
            list.push_str(&plain(item));
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_owned(), plain(value)));
        }
    }
    (fields, body)
}

fn field(fields: &[(String, String)], name: &str) -> Option<String> {
    fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

fn skill(name: String, fields: &[(String, String)], directory: PathBuf, body: &str) -> Skill {
    let allowed = field(fields, "allowed-tools").unwrap_or_default();
    let allowed = allowed.trim_start_matches('[').trim_end_matches(']');
    Skill {
        name,
        about: field(fields, "description").unwrap_or_default(),
        directory,
        body: body.to_owned(),
        allowed: crate::permission::split_list(allowed),
        has_hooks: field(fields, "hooks").is_some(),
        model: field(fields, "model").filter(|model| model != "inherit"),
        hint: field(fields, "argument-hint").unwrap_or_default(),
        is_for_users: field(fields, "disable-model-invocation").as_deref() == Some("true"),
    }
}

/// The skills and commands below directories such as `~/.claude`, the first of a name counts.
#[must_use]
pub fn skills_in(directories: &[PathBuf]) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    let mut add = |skill: Skill| {
        if !skills.iter().any(|known| known.name == skill.name) {
            skills.push(skill);
        }
    };
    for directory in directories {
        for folder in entries(&directory.join("skills")) {
            let Ok(text) = fs::read_to_string(folder.join("SKILL.md")) else { continue };
            let (fields, body) = front_matter(&text);
            let named = folder.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = field(&fields, "name").or(named).unwrap_or_default();
            add(skill(name, &fields, folder.clone(), body));
        }
        for file in markdown_in(&directory.join("commands")) {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let (fields, body) = front_matter(&text);
            add(skill(stem(&file), &fields, PathBuf::new(), body));
        }
        for folder in entries(&directory.join("commands")) {
            let space = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for file in markdown_in(&folder) {
                let Ok(text) = fs::read_to_string(&file) else { continue };
                let (fields, body) = front_matter(&text);
                let name = format!("{space}:{}", stem(&file));
                add(skill(name, &fields, PathBuf::new(), body));
            }
        }
    }
    skills
}

/// The kinds of subagents below directories such as `~/.claude`, the first of a name counts.
#[must_use]
pub fn agents_in(directories: &[PathBuf]) -> Vec<AgentType> {
    let mut agents: Vec<AgentType> = Vec::new();
    for file in directories.iter().flat_map(|directory| markdown_in(&directory.join("agents"))) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let (fields, body) = front_matter(&text);
        let name = field(&fields, "name").unwrap_or_else(|| stem(&file));
        if agents.iter().any(|known| known.name == name) {
            continue;
        }
        let tools = field(&fields, "tools")
            .map(|tools| tools.split(',').map(|tool| tool.trim().to_owned()).collect());
        agents.push(AgentType {
            name,
            about: field(&fields, "description").unwrap_or_default(),
            prompt: Some(body.trim().to_owned()),
            tools,
            model: field(&fields, "model").filter(|model| model != "inherit"),
        });
    }
    agents
}

/// Kinds of subagents that a host or an option names: `{name: {description, prompt, …}}`.
#[must_use]
pub fn agents_of(value: &Value) -> Vec<AgentType> {
    let named = value.as_object().into_iter().flatten();
    let kind = |(name, agent): (&String, &Value)| {
        let text = |field: &str| agent.get(field).and_then(Value::as_str).map(str::to_owned);
        let tools = agent
            .get("tools")
            .and_then(Value::as_array)
            .map(|tools| tools.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        AgentType {
            name: name.clone(),
            about: text("description").unwrap_or_default(),
            prompt: Some(text("prompt").unwrap_or_default()),
            tools,
            model: text("model").filter(|model| model != "inherit"),
        }
    };
    named.map(kind).collect()
}

/// A folder of skills, commands and kinds of subagents that somebody shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// Its name, which stands before the names of all that it brings.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What it brings that recto leaves alone.
    pub unused: Vec<&'static str>,
}

/// The plugins in directories, by `.claude-plugin/plugin.json` or the name of the directory.
#[must_use]
pub fn plugins_in(directories: &[PathBuf]) -> Vec<Plugin> {
    let plugin = |path: &PathBuf| {
        let manifest = fs::read_to_string(path.join(".claude-plugin/plugin.json")).ok();
        let manifest: Option<Value> = manifest.and_then(|text| serde_json::from_str(&text).ok());
        let named = manifest.as_ref().and_then(|manifest| manifest["name"].as_str());
        let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let parts = [("hooks/hooks.json", "hooks"), (".mcp.json", "servers")];
        let unused = parts.into_iter().filter(|(file, _)| path.join(file).exists());
        Plugin {
            name: named.map_or(folder, str::to_owned),
            path: path.clone(),
            unused: unused.map(|(_, what)| what).collect(),
        }
    };
    directories.iter().filter(|path| path.is_dir()).map(plugin).collect()
}

impl Plugin {
    /// Its skills and commands, as `plugin:name`.
    #[must_use]
    pub fn skills(&self) -> Vec<Skill> {
        let mut skills = skills_in(std::slice::from_ref(&self.path));
        skills.iter_mut().for_each(|skill| skill.name = self.full(&skill.name));
        skills
    }

    /// Its kinds of subagents, as `plugin:name`.
    #[must_use]
    pub fn agents(&self) -> Vec<AgentType> {
        let mut agents = agents_in(std::slice::from_ref(&self.path));
        agents.iter_mut().for_each(|kind| kind.name = self.full(&kind.name));
        agents
    }

    fn full(&self, name: &str) -> String {
        format!("{}:{name}", self.name)
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

pub(crate) fn markdown_in(directory: &Path) -> Vec<PathBuf> {
    let mut files = entries(directory);
    files.retain(|file| file.extension().is_some_and(|end| end == "md"));
    files
}

fn stem(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn skill(body: &str) -> Skill {
        super::skill("s".into(), &[], PathBuf::from("/s"), body)
    }

    #[test]
    fn a_name_that_is_nearly_one_is_told() {
        let known = ["labskill", "mcp", "Deep"];
        assert_eq!(meant("labskil", known.into_iter()), Some("labskill"));
        assert_eq!(meant("DEEP", known.into_iter()), Some("Deep"));
        assert_eq!(meant("app", known.into_iter()), Some("mcp"));
        assert_eq!(meant("nosuch", known.into_iter()), None);
    }

    #[test]
    fn a_command_says_what_it_may_do_and_who_follows_it() {
        let lists = [
            "allowed-tools: Bash(git add:*), Read",
            "allowed-tools: [Bash(git add:*), Read]",
            "allowed-tools:\n  - Bash(git add:*)\n  - \"Read\"",
        ];
        for list in lists {
            let text = format!("---\n{list}\nmodel: haiku\nargument-hint: '[file]'\n---\nGo\n");
            let (fields, body) = front_matter(&text);
            let skill = super::skill("c".into(), &fields, PathBuf::new(), body);
            assert_eq!(skill.allowed, ["Bash(git add:*)", "Read"], "{list}");
            assert_eq!((skill.model.as_deref(), skill.hint.as_str()), (Some("haiku"), "[file]"));
            assert_eq!(skill.body, "Go\n");
        }
    }

    #[test]
    fn arguments_go_where_the_text_has_places_for_them() {
        let body = skill("$1 and $ARGUMENTS in ${CLAUDE_SKILL_DIR}, $ARGUMENTS[0] for $HOME");
        assert_eq!(filled(&body, "one two"), "two and one two in /s, one for $HOME");
        assert_eq!(filled(&skill("Body\n"), "x"), "Body\n\n\nARGUMENTS: x");
        assert_eq!(filled(&skill("Body\n"), ""), "Body\n");
    }

    #[test]
    fn front_matter_is_not_part_of_the_text() {
        let (fields, body) = front_matter("---\nname: a\ndescription: \"b: c\"\n---\nBody\n");
        assert_eq!(field(&fields, "description").unwrap(), "b: c");
        assert_eq!(body, "Body\n");
        assert_eq!(front_matter("Body").1, "Body");
    }

    proptest! {
        #[test]
        fn any_text_is_filled(body in any::<String>(), arguments in any::<String>()) {
            front_matter(&body);
            filled(&skill(&body), &arguments);
        }
    }
}
