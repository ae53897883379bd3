//! The pages in a real browser: they open, are read, searched and followed.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::full_home;
use crate::support::hours_ago;
use crate::support::session;
use recto_testkit::chromium::Tab;
use recto_testkit::chromium::browser;

/// A tab that has opened the one-time address.
pub(crate) fn opened(test: &Test) -> Tab {
    let mut tab = browser().tab();
    tab.open(&test.server.login_url());
    tab
}

pub(crate) fn assert_quiet(tab: &mut Tab, test: &Test) {
    assert_eq!(tab.signs(&test.server.base_url()), [""; 0]);
}

/// A session of many turns, with some that fail.
pub(crate) fn long_home() -> FakeHome {
    let home = full_home();
    let mut long = SessionBuilder::new(OTHER, Client::V2_1_325).cwd("/home/dev/docs");
    for turn in 1..=60 {
        long = long.prompt(&format!("Prompt number {turn}"));
        if turn == 5 || turn == 45 {
            long = long.failed_tool("Bash", r#"{"command":"make"}"#, "no rule");
        }
        long = long.answer(&format!("Answer number {turn}\n\n{}", "A line.\n\n".repeat(12)));
    }
    home.add(&long, hours_ago(10));
    home
}

#[test]
#[ignore = "needs a browser"]
fn the_one_time_address_opens_the_home_page_with_its_charts() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    assert_eq!(tab.text("location.pathname"), "/");
    assert_eq!(tab.text("document.title"), "Home · recto");
    tab.wait("document.querySelectorAll('#side-list a.row').length === 2");
    // The client of the first session runs.
    assert!(tab.text("document.querySelector('#live').innerText").contains("Fix the parser"));
    assert_eq!(tab.number("document.querySelectorAll('.heat-week rect').length"), 168.0);
    assert!(tab.number("document.querySelectorAll('.heat-year rect').length") > 360.0);
    assert!(tab.number("document.querySelectorAll('.card').length") >= 6.0);
    tab.click("#side-list a.row");
    tab.wait("location.pathname.startsWith('/session/')");
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn a_session_is_read_from_its_first_turn_to_its_last() {
    let test = Test::new(long_home());
    let mut tab = opened(&test);
    let address = format!("{}/session/{OTHER}", test.server.base_url());
    tab.open(&address);
    let turns = "document.querySelectorAll('#turns > .turn').length";
    assert_eq!(tab.number(turns), 12.0, "the server gives the first ones");
    assert_eq!(tab.number("document.querySelectorAll('#outline a[data-goto]').length"), 60.0);
    tab.wait("document.querySelector('#facts .context-bar')");
    tab.value("window.scrollTo(0, document.body.scrollHeight)");
    tab.wait("document.querySelector('#turn-13')");
    // Keys: to the next turn, to the errors, to the end and back.
    tab.press("g");
    tab.wait("document.querySelector('#turn-1.here')");
    tab.press("j");
    tab.wait("document.querySelector('#turn-2.here')");
    tab.press("k");
    tab.wait("document.querySelector('#turn-1.here')");
    tab.press("e");
    tab.wait("document.querySelector('#turn-5 details.failed[open]')");
    tab.press("e");
    tab.wait("document.querySelector('#turn-45 details.failed[open]')");
    tab.press("G");
    tab.wait("document.querySelector('#turn-60')");
    // What lies between is still to be had.
    tab.open(&format!("{address}#turn-40"));
    tab.reload();
    tab.wait("document.querySelector('#turn-40.here')");
    assert!(tab.number("document.querySelector('#turn-40').getBoundingClientRect().top") < 200.0);
    let top = "document.querySelector('#turn-40').getBoundingClientRect().top";
    // In one go: what comes into view is loaded without a click, too.
    let before = tab.number(&format!(
        "(() => {{ const link = document.querySelector('#turns > a.earlier'); \
         link.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
         const before = {top}; link.click(); return before; }})()"
    ));
    tab.wait("document.querySelector('#turn-30')");
    let after = tab.number(top);
    assert!((after - before).abs() < 2.0, "the place is kept: {before} then {after}");
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn a_call_shows_what_it_did_when_it_is_opened() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    tab.open(&format!("{}/session/{SESSION}", test.server.base_url()));
    let open = "[...document.querySelectorAll('#turns .call')].filter((call) => call.open).length";
    assert_eq!(tab.number(open), 0.0);
    tab.press("t");
    tab.wait(&format!("{open} === document.querySelectorAll('#turns .call').length"));
    tab.press("t");
    tab.wait(&format!("{open} === 0"));
    tab.click("#turns .call summary");
    tab.wait(&format!("{open} === 1"));
    assert!(tab.number("document.querySelectorAll('.compaction').length") >= 1.0);
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn the_palette_finds_pages_and_sessions() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    tab.press_control("k");
    tab.wait("document.querySelector('#palette').open");
    tab.type_text("docs");
    tab.wait("document.querySelector('#palette-list li[aria-selected=true]')?.innerText.includes('Write the docs')");
    tab.press("Enter");
    tab.wait(&format!("location.pathname === '/session/{OTHER}'"));
    tab.wait("document.querySelector('#side-list a[aria-current]')");
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn the_list_at_the_side_is_filtered_as_one_types() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    let rows = "document.querySelectorAll('#side-list a.row').length";
    tab.wait(&format!("{rows} === 2"));
    tab.click("#side-filter");
    tab.type_text("parser");
    tab.wait(&format!("{rows} === 1"));
    // A row that was not drawn yet has no inner text.
    assert!(tab.text("document.querySelector('#side-list').textContent").contains("parser"));
    tab.type_text(" nothing like that");
    tab.wait(&format!("{rows} === 0"));
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn what_is_written_meanwhile_appears_and_the_place_is_kept() {
    let home = FakeHome::new();
    let log = session();
    home.add(&log, hours_ago(1));
    let test = Test::new(home);
    let mut tab = opened(&test);
    tab.size(1000, 400);
    tab.open(&format!("{}/session/{SESSION}", test.server.base_url()));
    tab.wait("document.querySelector('#facts .context-bar')");
    tab.wait("document.documentElement.dataset.events === 'open'");
    // What comes later has its room before: the strip of costs is as high as the place for it.
    tab.wait("document.querySelector('#costs .cost-top')");
    let top = "document.querySelector('#turns > .turn').getBoundingClientRect().top";
    let without = "(() => { const place = document.querySelector('#costs'); \
                   const strip = [...place.childNodes]; place.replaceChildren(); \
                   const found = TOP; place.append(...strip); return found; })()";
    for (width, height) in [(390, 844), (768, 1024), (1000, 400)] {
        tab.size(width, height);
        let before = tab.number(&without.replace("TOP", top));
        assert_eq!(tab.number(top), before, "the strip has its room at {width} pixels");
    }
    let before = tab.number(top);
    // A call without its result, as a client writes it.
    let more =
        log.clone().prompt("Typed meanwhile").tool("Read", r#"{"file_path":"/x"}"#, "It is empty");
    let lines: Vec<&[u8]> =
        more.bytes()[log.bytes().len()..].split_inclusive(|b| *b == b'\n').collect();
    let (result, called) = lines.split_last().unwrap();
    test.write(&called.concat());
    tab.wait("document.querySelector('#turns').innerText.includes('Typed meanwhile')");
    tab.wait("document.querySelector('.news')?.textContent.includes('new')");
    assert_eq!(tab.number(top), before, "nothing has moved");
    // What is open stays open when its result comes.
    tab.wait("document.querySelector('#turn-3 .call .tag')?.textContent === 'no result'");
    tab.value("document.querySelector('#turn-3 .call').open = true");
    test.write(result);
    tab.wait("document.querySelector('#turn-3 .call')?.innerText.includes('It is empty')");
    assert!(tab.value("document.querySelector('#turn-3 .call').open") == true);
    assert_eq!(tab.number("document.querySelectorAll('#turn-3 .call').length"), 1.0);
    // At the end, the page follows.
    tab.value("window.scrollTo(0, document.body.scrollHeight)");
    tab.wait("!document.querySelector('.news')");
    let end = more.clone().answer(&format!("Typed at the end\n\n{}", "A line.\n\n".repeat(20)));
    test.write(&end.bytes()[more.bytes().len()..]);
    tab.wait("document.querySelector('#turns').innerText.includes('Typed at the end')");
    tab.wait("innerHeight + scrollY >= document.body.scrollHeight - 2");
    assert!(tab.value("document.querySelector('.news') === null") == true);
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn a_search_leads_to_the_turn_that_it_found() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    tab.click("#home-search");
    tab.type_text("mended");
    tab.press("Enter");
    tab.wait("location.pathname === '/search' && document.readyState === 'complete'");
    // The index may still be made; the page says so, and has it when it is loaded again.
    let hit = "document.querySelector('main a[href*=\"#turn-\"]')";
    for _ in 0..200 {
        if tab.value(&format!("{hit} !== null")) == true {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        let address = tab.text("location.href");
        tab.open(&address);
    }
    let address = tab.text(&format!("{hit}.href"));
    assert!(address.contains(&format!("/session/{SESSION}")), "{address}");
    tab.open(&address);
    tab.wait("document.querySelector('.turn.here')?.textContent.includes('mended')");
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn charts_are_drawn() {
    let home = full_home();
    home.add(&session().at(hours_ago(2)), hours_ago(1));
    let test = Test::new(home);
    let mut tab = opened(&test);
    for (page, least) in [("/usage?period=all", 1.0), ("/tools?period=all", 0.0)] {
        tab.open(&format!("{}{page}", test.server.base_url()));
        let shapes = tab.number("document.querySelectorAll('main svg rect, main svg path').length");
        assert!(shapes >= least, "{page} has {shapes} shapes");
        assert!(tab.number("document.querySelectorAll('main table tr').length") > 1.0, "{page}");
    }
    assert_quiet(&mut tab, &test);
}

/// The addresses of all pages of a home.
fn addresses() -> Vec<String> {
    let pages = [
        "/",
        "/sessions",
        "/sessions?q=parser&live=true",
        "/search?q=parser",
        "/usage?period=all",
        "/usage/explain?period=all",
        "/tools?period=all",
        "/plans",
        "/files?period=all",
        "/file?path=src/main.rs",
        "/health",
    ];
    let mut addresses: Vec<String> = pages.map(str::to_owned).to_vec();
    addresses.push(format!("/session/{SESSION}"));
    addresses.push(format!("/session/{SESSION}/agent/a1b2c3d4"));
    addresses
}

/// What is wrong with a page for who cannot see it, or has no pointer.
const UNNAMED: &str = r##"(() => {
    const named = (e) => (e.getAttribute("aria-label") || e.textContent || e.title || "").trim()
        || (e.id && document.querySelector(`label[for="${e.id}"]`)) || e.closest("label");
    const wrong = [...document.querySelectorAll("button, a[href], input:not([type=hidden]), select")]
        .filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 120));
    if (document.querySelectorAll("main").length !== 1) wrong.push("no main");
    if (document.querySelectorAll("h1").length !== 1) wrong.push("no h1");
    if (!document.documentElement.lang) wrong.push("no language");
    if (document.querySelector("a.skip")?.getAttribute("href") !== "#main") wrong.push("no way past the bar");
    for (const svg of document.querySelectorAll("svg"))
        if (!svg.closest("[aria-hidden]") && !svg.parentElement.closest("svg") && (!["img", "group"].includes(svg.getAttribute("role")) || !svg.getAttribute("aria-label"))) wrong.push("a picture without words");
    const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
    for (const id of ids) if (ids.filter((other) => other === id).length > 1 && id) wrong.push(`two of #${id}`);
    return wrong.join("\n");
})()"##;

#[test]
#[ignore = "needs a browser"]
fn pages_fit_every_width_and_everything_has_a_name() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    for address in addresses() {
        for (width, height) in [(390, 844), (1024, 768), (1440, 900)] {
            tab.size(width, height);
            tab.open(&format!("{}{address}", test.server.base_url()));
            tab.wait("document.querySelector('#side-list a.row, #side-list .side-more')");
            let wide = tab.number("document.documentElement.scrollWidth");
            assert!(wide <= f64::from(width), "{address} is {wide} wide at {width}");
        }
        assert_eq!(tab.text(UNNAMED), "", "{address}");
    }
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn the_list_is_a_drawer_on_a_phone() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    tab.size(390, 844);
    tab.open(&test.server.base_url());
    let left = "document.querySelector('#side').getBoundingClientRect().right";
    assert!(tab.number(left) <= 0.0);
    tab.click(".drawer-button");
    tab.wait(&format!("{left} > 200"));
    tab.press("Escape");
    tab.wait(&format!("{left} <= 0"));
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn colours_are_chosen_and_kept() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    let ground = "getComputedStyle(document.body).backgroundColor";
    let light = tab.text(ground);
    tab.click("[data-act=theme]");
    tab.click("[data-act=theme]");
    tab.wait("document.documentElement.dataset.theme === 'dark'");
    assert_ne!(tab.text(ground), light);
    tab.open(&format!("{}/sessions", test.server.base_url()));
    assert_eq!(tab.text("document.documentElement.dataset.theme"), "dark");
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn without_scripts_links_lead_on() {
    let test = Test::new(long_home());
    let mut tab = opened(&test);
    tab.call("Emulation.setScriptExecutionDisabled", serde_json::json!({ "value": true }));
    tab.open(&format!("{}/session/{OTHER}", test.server.base_url()));
    assert_eq!(
        tab.text("document.querySelector('#turns .prompt').innerText"),
        "You\nPrompt number 1"
    );
    let next = tab.text("document.querySelector('#turns > a.more').href");
    tab.open(&next);
    assert!(tab.value("document.querySelector('#turn-13') !== null") == true);
    let earlier = tab.text("document.querySelector('#turns > a.earlier').href");
    tab.open(&earlier);
    assert!(tab.value("document.querySelector('#turn-1') !== null") == true);
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn a_page_that_acts_is_noticed() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    let origin = test.server.base_url();
    assert_quiet(&mut tab, &test);
    for script in [
        "document.body.insertAdjacentHTML('beforeend', '<img src=http://pwned.invalid/x>')",
        "document.body.insertAdjacentHTML('beforeend', '<b style=\"color:red\">x</b>')",
        "document.body.insertAdjacentHTML('beforeend', '<img src=/assets/none onerror=1>')",
        "window.__pwned = 1",
        "console.log('pwned')",
        "setTimeout(() => { throw new Error('x') })",
    ] {
        let before = tab.signs(&origin).len();
        tab.value(&format!("{script}; 1"));
        let mut after = before;
        for _ in 0..100 {
            after = tab.signs(&origin).len();
            if after > before {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(after > before, "{script}");
    }
}
