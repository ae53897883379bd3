//! What is typed on the page of the search, and the form that it is typed into.

use maud::Markup;
use maud::html;
use recto_session::search::TextRole;
use recto_store::Filter;

use super::explain::page_number;
use super::link::Link;
use super::text::one_line;
use super::text::path_end;
use crate::answer::Failure;
use crate::context::Context;
use crate::pages::sessions::short_model;
use crate::parameters::Parameters;
use recto_view::Choices;

/// How many pages of hits there are at most.
pub(super) const MOST_PAGES: usize = 40;

/// Tools to choose from; any other name can be typed.
const TOOLS: [&str; 12] = [
    "Bash",
    "Read",
    "Edit",
    "Write",
    "Grep",
    "Glob",
    "Task",
    "Agent",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "Skill",
];

/// What was typed.
#[derive(Debug, Clone, Default)]
pub(super) struct Typed {
    pub(super) text: Option<String>,
    project: Option<String>,
    model: Option<String>,
    branch: Option<String>,
    role: Option<String>,
    tool: Option<String>,
    only_errors: bool,
    since: Option<String>,
    until: Option<String>,
    pub(super) by_rank: bool,
    pub(super) page: usize,
}

impl Typed {
    pub(super) fn take(parameters: &mut Parameters) -> Result<Typed, Failure> {
        let bad = |message: &str| Err(Failure::bad_request("bad-parameter", message.to_owned()));
        let by_rank = match parameters.text("sort").as_deref() {
            None | Some("newest") => false,
            Some("best") => true,
            Some(_) => return bad("`sort` is `newest` or `best`"),
        };
        let only_errors = match parameters.text("errors").as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return bad("`errors` is `true` or `false`"),
        };
        Ok(Typed {
            text: parameters.text("q").filter(|text| !text.trim().is_empty()),
            project: parameters.text("project"),
            model: parameters.text("model"),
            branch: parameters.text("branch"),
            role: parameters.text("role"),
            tool: parameters.text("tool"),
            only_errors,
            since: parameters.text("since"),
            until: parameters.text("until"),
            by_rank,
            page: page_number(parameters)?.min(MOST_PAGES),
        })
    }

    pub(super) fn link(&self) -> Link {
        Link::new("/search")
            .with_some("q", self.text.as_deref())
            .with_some("project", self.project.as_deref())
            .with_some("model", self.model.as_deref())
            .with_some("branch", self.branch.as_deref())
            .with_some("role", self.role.as_deref())
            .with_some("tool", self.tool.as_deref())
            .with_some("errors", self.only_errors.then_some("true"))
            .with_some("since", self.since.as_deref())
            .with_some("until", self.until.as_deref())
            .with_some("sort", self.by_rank.then_some("best"))
    }

    /// The whole query: what was typed, and what the fields of the form ask for, in the
    /// language of queries. None if nothing was asked yet.
    pub(super) fn query(&self) -> Option<String> {
        let mut parts = Vec::new();
        let quoted = |text: &str| text.replace('"', " ");
        if let Some(role) = &self.role {
            parts.push(format!("role:\"{}\"", quoted(role)));
        }
        if let Some(tool) = &self.tool {
            parts.push(format!("tool:\"{}\"", quoted(tool)));
        }
        if self.only_errors {
            parts.push("is:error".to_owned());
        }
        match &self.text {
            Some(text) if parts.is_empty() => return Some(text.clone()),
            Some(text) => parts.insert(0, format!("({text})")),
            None => {}
        }
        (!parts.is_empty()).then(|| parts.join(" "))
    }

    pub(super) fn filter(&self, context: &Context) -> Result<Filter, Failure> {
        let when = |text: &Option<String>| {
            text.as_deref().map(|text| context.library.typed_time(text)).transpose()
        };
        Ok(Filter {
            project: self.project.clone(),
            since: when(&self.since)?,
            until: when(&self.until)?,
            model: self.model.clone(),
            branch: self.branch.clone(),
        })
    }

    fn has_filters(&self) -> bool {
        let texts = [&self.project, &self.model, &self.branch, &self.role, &self.tool];
        let times = [&self.since, &self.until];
        self.only_errors || texts.into_iter().chain(times).any(|one| one.is_some())
    }
}

pub(super) fn form(typed: &Typed, choices: &Choices) -> Markup {
    html! {
        form.search-form role="search" aria-label="Search all sessions" method="get" action="/search" {
            div.search-line {
                label.unseen for="q" { "What to look for" }
                input #q .field.search-field type="search" name="q" value=[typed.text.as_deref()] placeholder="Words, \"a phrase\", tool:Bash, is:error, after:7d"
                    autocomplete="off" spellcheck="false" autofocus[typed.text.is_none()];
                label.unseen for="sort" { "Order" }
                select #sort .field name="sort" {
                    option value="newest" selected[!typed.by_rank] { "Newest first" }
                    option value="best" selected[typed.by_rank] { "Best first" }
                }
                button.button.primary type="submit" { "Search" }
            }
            details.search-filters open[typed.has_filters()] {
                summary { "Filters" }
                (filters(typed, choices))
            }
        }
    }
}

fn filters(typed: &Typed, choices: &Choices) -> Markup {
    let project = |path: &str| path_end(&one_line(path), 3);
    let roles = TextRole::ALL.map(|role| role.name().to_owned());
    let tools = TOOLS.map(str::to_owned);
    html! {
        div.filters {
            (select("project", "Project", "All projects", &typed.project, &choices.projects, &project))
            (select("model", "Model", "All models", &typed.model, &choices.models, &short_model))
            (suggested("branch", "Git branch", "Any branch", &typed.branch, &choices.branches))
            (select("role", "Kind of text", "All kinds", &typed.role, &roles, &role_name))
            (suggested("tool", "Tool", "Any tool", &typed.tool, &tools))
            (day("since", "From", &typed.since))
            (day("until", "Before", &typed.until))
            label.field.check { input type="checkbox" name="errors" value="true" checked[typed.only_errors]; "Only errors" }
            @if typed.has_filters() {
                a.button.quiet href=(Link::new("/search").with_some("q", typed.text.as_deref())) { "Clear" }
            }
        }
    }
}

/// What a kind of text is called.
fn role_name(role: &str) -> String {
    match role {
        "user" => "prompts",
        "assistant" => "answers",
        "tool-input" => "what tools were given",
        "tool-result" => "what tools gave back",
        "summary" => "summaries",
        "title" => "titles",
        "plan" => "plans",
        "system" => "texts Claude Code adds",
        other => other,
    }
    .to_owned()
}

/// One of a few; what is chosen is there even if nothing has it any more.
fn select(
    name: &str,
    label: &str,
    any: &str,
    chosen: &Option<String>,
    known: &[String],
    shown: &dyn Fn(&str) -> String,
) -> Markup {
    let other = chosen.as_ref().filter(|chosen| !known.contains(chosen));
    html! {
        label.labelled {
            span { (label) }
            select.field name=(name) {
                option value="" { (any) }
                @for value in known.iter().chain(other) {
                    option value=(value) selected[chosen.as_ref() == Some(value)] { (shown(value)) }
                }
            }
        }
    }
}

/// A text, with what is known to choose from.
fn suggested(
    name: &str,
    label: &str,
    any: &str,
    chosen: &Option<String>,
    known: &[String],
) -> Markup {
    let list = format!("known-{name}");
    html! {
        label.labelled {
            span { (label) }
            input.field type="text" name=(name) value=[chosen.as_deref()] placeholder=(any) list=(list) autocomplete="off";
        }
        datalist id=(list) { @for value in known { option value=(value) {} } }
    }
}

/// A day; what an address says in another way stays as it is.
fn day(name: &str, label: &str, chosen: &Option<String>) -> Markup {
    let is_day = chosen.as_deref().is_none_or(|text| text.parse::<jiff::civil::Date>().is_ok());
    html! {
        label.labelled {
            span { (label) }
            input.field type=(if is_day { "date" } else { "text" }) name=(name) value=[chosen.as_deref()];
        }
    }
}

#[cfg(test)]
mod tests {
    use recto_session::search::Query;

    use super::*;

    #[test]
    fn fields_of_the_form_are_a_part_of_the_query() {
        let mut typed = Typed { text: Some("rust OR cargo".into()), ..Typed::default() };
        assert_eq!(typed.query().as_deref(), Some("rust OR cargo"));
        typed.tool = Some("Bash".into());
        typed.only_errors = true;
        assert_eq!(typed.query().as_deref(), Some("(rust OR cargo) tool:\"Bash\" is:error"));
        typed.text = None;
        typed.role = Some("user".into());
        let query = typed.query().unwrap();
        assert_eq!(query, "role:\"user\" tool:\"Bash\" is:error");
        assert!(Query::parse(&query).is_ok());
        assert_eq!(Typed::default().query(), None);
    }
}
