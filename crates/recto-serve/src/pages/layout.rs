//! What all pages have: the bar, the list of sessions at the side, and the files
//! that a page needs. Everything that is put into a page is escaped by maud.
//!
//! The list at the side is fetched by `app.js` from `/sessions/list`, so that no
//! page waits for it; without scripts, `/sessions` has it.

use maud::DOCTYPE;
use maud::Markup;
use maud::html;

use crate::answer::Page;
use crate::assets;

/// The pages that the bar leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nav {
    Home,
    Sessions,
    Search,
    Usage,
    Tools,
    Plans,
    Files,
    Health,
    Insights,
    Team,
}

tokio::task_local! {
    /// Whether the server has the store of a team. Set for each request: the bar is part of every
    /// page, and only one page is about the team.
    pub(crate) static HAS_TEAM: bool;
}

impl Nav {
    /// Those of every server.
    const ALL: [Nav; 9] = [
        Nav::Home,
        Nav::Sessions,
        Nav::Search,
        Nav::Usage,
        Nav::Insights,
        Nav::Tools,
        Nav::Plans,
        Nav::Files,
        Nav::Health,
    ];

    fn name(self) -> &'static str {
        match self {
            Nav::Home => "Home",
            Nav::Sessions => "Sessions",
            Nav::Search => "Search",
            Nav::Usage => "Usage",
            Nav::Tools => "Tools",
            Nav::Plans => "Plans",
            Nav::Files => "Files",
            Nav::Health => "Health",
            Nav::Insights => "Insights",
            Nav::Team => "Team",
        }
    }

    fn address(self) -> &'static str {
        match self {
            Nav::Home => "/",
            Nav::Sessions => "/sessions",
            Nav::Search => "/search",
            Nav::Usage => "/usage",
            Nav::Tools => "/tools",
            Nav::Plans => "/plans",
            Nav::Files => "/files",
            Nav::Health => "/health",
            Nav::Insights => "/insights",
            Nav::Team => "/team",
        }
    }
}

/// Style sheets, in the order in which they count.
const STYLES: [&str; 3] = ["style.css", "reader.css", "figures.css"];

/// A page, below an entry of the bar if it belongs to one. `title` is plain text.
pub(crate) fn page(title: &str, nav: impl Into<Option<Nav>>, body: &Markup) -> Page {
    let nav = nav.into();
    Page(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · recto" }
                link rel="icon" href=(assets::address("icon.svg")) type="image/svg+xml";
                // Not a module: it runs before the first drawing.
                script src=(assets::address("theme.js")) {}
                @for style in STYLES {
                    link rel="stylesheet" href=(assets::address(style));
                }
                script type="module" src=(assets::address("app.js")) {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (bar(nav))
                div.frame {
                    (side())
                    main #main .main tabindex="-1" { (body) }
                }
                button.drawer-shade type="button" data-act="drawer" aria-label="Close the list of sessions" {}
                (palette())
                (help())
            }
        }
    })
}

fn bar(nav: Option<Nav>) -> Markup {
    let has_team = HAS_TEAM.try_with(|has| *has).unwrap_or(false);
    html! {
        header.bar {
            button.button.quiet.icon.drawer-button type="button" data-act="drawer"
                aria-label="List of sessions" aria-expanded="false" {
                svg.icon-line viewBox="0 0 16 16" aria-hidden="true" { path d="M2.5 4h11M2.5 8h11M2.5 12h7" {} }
            }
            a.brand href="/" aria-label="recto, home" {
                svg viewBox="0 0 20 20" aria-hidden="true" {
                    path.back d="M3 3.5 10 5v12l-7-1.5z" {}
                    path.leaf d="M10 5l7-1.5v12L10 17z" {}
                }
                span { "recto" }
            }
            nav.nav aria-label="Pages" {
                @for entry in Nav::ALL.into_iter().chain(has_team.then_some(Nav::Team)) {
                    a href=(entry.address()) aria-current=[(Some(entry) == nav).then_some("page")] { (entry.name()) }
                }
            }
            form.bar-search role="search" aria-label="Search from any page" action="/search" {
                label.unseen for="bar-search" { "Search all sessions" }
                input #bar-search .field type="search" name="q" placeholder="Search" autocomplete="off" spellcheck="false";
                kbd aria-hidden="true" { "/" }
            }
            div.bar-tools {
                // Two ways, each with its key: a text in all sessions, or a session by its name.
                button.button.goto type="button" data-act="palette" title="Go to a session or page" {
                    svg.icon-line viewBox="0 0 16 16" aria-hidden="true" { circle cx="7" cy="7" r="4.5" {} path d="m10.5 10.5 3 3" {} }
                    span { "Go to" }
                    kbd { "Ctrl K" }
                }
                button.button.quiet.icon type="button" data-act="theme" aria-label="Theme: system" {
                    svg.icon-line viewBox="0 0 16 16" aria-hidden="true" { circle cx="8" cy="8" r="5.5" {} path d="M8 2.5v11a5.5 5.5 0 0 0 0-11z" fill="currentColor" {} }
                }
                button.button.quiet.icon.hide-narrow type="button" data-act="help" aria-label="Keyboard shortcuts" {
                    svg.icon-line viewBox="0 0 16 16" aria-hidden="true" { path d="M5.8 6a2.2 2.2 0 1 1 3.1 2c-.6.3-.9.7-.9 1.4M8 12v.01" {} circle cx="8" cy="8" r="6.2" {} }
                }
            }
        }
    }
}

fn side() -> Markup {
    html! {
        aside #side .side aria-label="Sessions" {
            div.side-head {
                p {
                    a href="/sessions" { strong { "Sessions" } }
                    span.faint.number #side-count {}
                }
                div.side-groups role="group" aria-label="Group the list" {
                    button.button.quiet.small type="button" data-group-by="day" aria-pressed="true" { "By day" }
                    button.button.quiet.small type="button" data-group-by="project" aria-pressed="false" { "By project" }
                }
                label.unseen for="side-filter" { "Filter the list" }
                input #side-filter .field type="search" placeholder="Filter the list" autocomplete="off" spellcheck="false";
            }
            nav #side-list .side-list aria-label="Sessions, newest first" {
                noscript { a.side-more href="/sessions" { "All sessions" } }
            }
            p.side-foot {
                button.button.quiet.small type="button" data-act="help" { "Keyboard shortcuts" }
                button.button.quiet.small type="button" data-act="notices" aria-pressed="false" { "Desktop notifications: off" }
            }
        }
    }
}

fn palette() -> Markup {
    html! {
        dialog #palette .palette aria-label="Commands" {
            input #palette-input type="text" placeholder="Go to a session or page, or search" role="combobox"
                aria-controls="palette-list" aria-expanded="true" aria-label="Go to a session or page, or search"
                autocomplete="off" spellcheck="false";
            ol #palette-list role="listbox" aria-label="Matches" {}
            p { span { kbd { "↑" } " " kbd { "↓" } " choose" } span { kbd { "Enter" } " open" } span { kbd { "Esc" } " close" } }
        }
    }
}

fn help() -> Markup {
    let keys = [
        ("Ctrl K", "go to a session or page"),
        ("/", "search"),
        ("j", "next turn"),
        ("k", "previous turn"),
        ("e", "next error"),
        ("t", "fold or open tools"),
        ("g", "first turn"),
        ("G", "last turn"),
        ("y", "copy a link to the turn"),
        ("f", "find in this session"),
        ("n N", "next match, previous match"),
        ("[ ]", "previous session, next session"),
        ("o", "outline"),
        ("d", "dark or light"),
        ("?", "these keys"),
    ];
    html! {
        dialog #help .help-dialog aria-labelledby="help-title" {
            div.help {
                h2 #help-title { "Keyboard shortcuts" }
                dl {
                    @for (key, what) in keys {
                        dt { kbd { (key) } }
                        dd { (what) }
                    }
                }
            }
        }
    }
}
