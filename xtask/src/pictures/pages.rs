//! The images of the web pages: each page as a browser shows it.

use std::path::Path;

use anyhow::Result;
use recto_testkit::chromium::Browser;
use recto_testkit::chromium::Tab;

use crate::repository::say;

/// The session that is read in the images.
const SESSION: &str = "5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214";

/// An image: its name, its address, and what must be there.
struct Page {
    name: &'static str,
    address: &'static str,
    /// A selector, besides the list at the side.
    shows: &'static str,
}

const fn page(name: &'static str, address: &'static str, shows: &'static str) -> Page {
    Page { name, address, shows }
}

/// All pages, in the order of the guide.
const PAGES: &[Page] = &[
    page("page-home", "/?period=all", ".card"),
    page("page-sessions", "/sessions?sort=cost", "main tbody tr"),
    page("page-cost", "/session/{session}/cost", ".costs svg"),
    page("page-usage", "/usage?period=all", ".card"),
    page("page-usage-groups", "/usage/groups?group=tool&period=all", "main tbody tr"),
    page(
        "page-usage-compare",
        "/usage/compare?left_from=2026-10-01&left_to=2026-11-14&left_project=%2Fhome%2Fdev%2Ftide\
         &right_from=2026-10-01&right_to=2026-11-14&right_project=%2Fhome%2Fdev%2Fharbour-map",
        "main tbody tr",
    ),
    page("page-explain", "/usage/explain?period=all&sort=amount", "main"),
    page("page-activity", "/insights?period=all", "main .panel"),
    page("page-quality", "/insights/quality?period=all", "main .panel"),
    page("page-cache", "/insights/cache?period=all", "main .panel"),
    page("page-context", "/insights/context?period=all", "main .panel"),
    page("page-search", "/search?q=zone", "#search-results .hit"),
    page("page-tools", "/tools?period=all", "main .panel"),
    page("page-plans", "/plans", "main"),
    page("page-files", "/files?period=all", "main"),
    page("page-health", "/health", "main .panel"),
];

/// Draws all of them into a folder. `login` is an address that admits one browser.
pub(super) fn draw(browser: &Path, login: &str, folder: &Path) -> Result<()> {
    let browser = Browser::start(browser, &["--hide-scrollbars", "--force-prefers-reduced-motion"]);
    let mut tab = browser.tab();
    tab.size(1200, 760);
    tab.open(login);
    let base = tab.text("location.origin");
    let take = |tab: &mut Tab, name: &str| -> Result<()> {
        let image = tab.screenshot();
        say(&format!("{name}.png  {} kB", image.len() / 1000));
        Ok(std::fs::write(folder.join(format!("{name}.png")), image)?)
    };
    for page in PAGES {
        show(&mut tab, &base, page);
        take(&mut tab, page.name)?;
    }
    let reader = page("page", "/session/{session}", "#costs svg");
    show(&mut tab, &base, &reader);
    take(&mut tab, reader.name)?;
    tab.value("localStorage.setItem('theme', 'dark')");
    show(&mut tab, &base, &reader);
    take(&mut tab, "page-dark")?;
    tab.value("localStorage.setItem('theme', 'light')");
    tab.size(390, 760);
    show(&mut tab, &base, &reader);
    take(&mut tab, "page-phone")
}

fn show(tab: &mut Tab, base: &str, page: &Page) {
    tab.open(&format!("{base}{}", page.address.replace("{session}", SESSION)));
    tab.wait("document.querySelector('#side-list a.row')");
    tab.wait(&format!("document.querySelector('{}')", page.shows));
    // Fonts and code in colours come a moment after the page.
    tab.value("new Promise((done) => setTimeout(done, 600))");
}
