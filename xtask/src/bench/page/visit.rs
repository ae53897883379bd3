//! One visit: the first page, the long session, reading it to its end, and lines that are added.

use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;
use std::time::UNIX_EPOCH;

use recto_testkit::chromium::Browser;
use recto_testkit::chromium::Tab;
use serde_json::json;

use super::log::LongLog;
use super::log::MARK;
use super::server::Server;

/// How long reading to the end may take.
const LONGEST_READING: Duration = Duration::from_secs(150);
/// How long a line may take to be on the page.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How many lines are added.
const APPENDS: usize = 5;
/// How far the wheel turns at once, in points of the screen.
const STEP: u32 = 2500;
/// How long a person looks before the next turn of the wheel.
const LOOK: Duration = Duration::from_millis(40);
/// How long a page may load on after it is there.
const SETTLE: Duration = Duration::from_secs(4);

/// How a page is at a moment.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) first_paint: f64,
    pub(super) answer_shown: f64,
    pub(super) transfer: f64,
    pub(super) heap: f64,
    pub(super) nodes: f64,
}

#[derive(Debug, Default)]
pub(super) struct Visit {
    pub(super) home: State,
    pub(super) session: State,
    pub(super) end: State,
    pub(super) reached_end: bool,
    pub(super) reading_time: f64,
    pub(super) most_nodes: f64,
    /// How long they took, of those that the browser calls long.
    pub(super) long_tasks: Vec<f64>,
    /// From the write to the page.
    pub(super) appended: Vec<f64>,
}

impl Visit {
    pub(super) fn tasks_over(&self, milliseconds: f64) -> f64 {
        self.long_tasks.iter().filter(|task| **task > milliseconds).count() as f64
    }

    pub(super) fn longest_task(&self) -> f64 {
        self.long_tasks.iter().copied().fold(0.0, f64::max)
    }
}

/// Notes long tasks, and when a text appears.
fn script() -> String {
    format!(
        "window.bench = {{ tasks: [], shown: null, seen: null }}; \
         new PerformanceObserver((list) => {{ for (const task of list.getEntries()) bench.tasks.push(task.duration); }}) \
           .observe({{ type: 'longtask', buffered: true }}); \
         bench.look = () => {{ if (document.body?.textContent.includes('{MARK}')) bench.shown = performance.now(); \
           else requestAnimationFrame(bench.look); }}; bench.look(); \
         bench.nodes = () => {{ const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL); \
           let count = 1; while (walker.nextNode()) count++; return count; }}; \
         bench.rest = () => {{ let place = document.elementFromPoint(800, 500); \
           while (place && place !== document.body && (place.scrollHeight <= place.clientHeight + 4 || \
             !/auto|scroll/.test(getComputedStyle(place).overflowY))) place = place.parentElement; \
           if (!place || place === document.body) place = document.scrollingElement; \
           return place.scrollHeight - place.clientHeight - place.scrollTop; }}; \
         bench.await = (text) => {{ bench.seen = null; const observer = new MutationObserver(() => {{ \
           if (!document.body.textContent.includes(text)) return; \
           bench.seen = performance.timeOrigin + performance.now(); observer.disconnect(); }}); \
           observer.observe(document.body, {{ childList: true, characterData: true, subtree: true }}); }};"
    )
}

pub(super) fn visit(
    browser: &Arc<Browser>,
    server: &Server,
    log: &mut LongLog,
    appends: bool,
) -> anyhow::Result<Visit> {
    let mut tab = browser.tab();
    tab.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script() }));
    tab.call("HeapProfiler.enable", json!({}));
    if let Some(token) = server.token {
        let headers = json!({ "headers": { "Authorization": format!("Bearer {token}") } });
        tab.call("Network.setExtraHTTPHeaders", headers);
    }
    let mut visit = Visit::default();
    tab.open(&server.home());
    std::thread::sleep(SETTLE);
    visit.home = state(&mut tab, 0.0);
    // The files of the pages are in the cache now, as they are for people.
    tab.open(&server.session());
    tab.wait("bench.shown !== null");
    std::thread::sleep(SETTLE);
    visit.session = state(&mut tab, 0.0);
    read(&mut tab, &log.last_mark(), &mut visit);
    visit.end = state(&mut tab, visit.session.transfer);
    if appends && visit.reached_end {
        for _ in 0..APPENDS {
            visit.appended.push(append(&mut tab, log)?);
        }
    }
    Ok(visit)
}

fn state(tab: &mut Tab, transferred: f64) -> State {
    tab.call("HeapProfiler.collectGarbage", json!({}));
    let heap = tab.call("Runtime.getHeapUsage", json!({}));
    let finished = tab.take_events("Network.loadingFinished");
    let bytes = finished.iter().filter_map(|event| event["params"]["encodedDataLength"].as_f64());
    State {
        first_paint: tab
            .value("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
            .as_f64()
            .unwrap_or(f64::NAN),
        answer_shown: tab.value("bench.shown").as_f64().unwrap_or(f64::NAN),
        transfer: transferred + bytes.sum::<f64>(),
        heap: heap["usedSize"].as_f64().unwrap_or(f64::NAN),
        nodes: tab.number("bench.nodes()"),
    }
}

fn wheel(tab: &mut Tab) {
    let turned = json!({ "type": "mouseWheel", "x": 800, "y": 500, "deltaX": 0, "deltaY": STEP });
    tab.call("Input.dispatchMouseEvent", turned);
}

/// Turns the wheel until the last answer is there and nothing is below it.
fn read(tab: &mut Tab, last: &str, visit: &mut Visit) {
    tab.value("bench.tasks.length = 0");
    let begun = Instant::now();
    let is_end = format!("bench.rest() < 40 && document.body.textContent.includes('{last}')");
    let mut turned = 0_u32;
    while begun.elapsed() < LONGEST_READING {
        wheel(tab);
        std::thread::sleep(LOOK);
        turned += 1;
        if turned.is_multiple_of(8) {
            visit.most_nodes = visit.most_nodes.max(tab.number("bench.nodes()"));
            if tab.value(&is_end) == true {
                visit.reached_end = true;
                break;
            }
        }
    }
    visit.reading_time = begun.elapsed().as_secs_f64() * 1e3;
    let tasks = tab.value("bench.tasks");
    visit.long_tasks =
        tasks.as_array().into_iter().flatten().filter_map(|one| one.as_f64()).collect();
    std::thread::sleep(Duration::from_secs(1));
}

/// How long it takes from a line in the log to its text on the page, in milliseconds; infinite
/// if it takes longer than a person would wait.
fn append(tab: &mut Tab, log: &mut LongLog) -> anyhow::Result<f64> {
    std::thread::sleep(Duration::from_millis(700));
    let before = log.last_mark();
    let next = next_mark(&before);
    tab.value(&format!("bench.await('{next}')"));
    let written = log.append()?.duration_since(UNIX_EPOCH)?.as_secs_f64() * 1e3;
    let begun = Instant::now();
    while begun.elapsed() < LONGEST_WAIT {
        if let Some(seen) = tab.value("bench.seen").as_f64() {
            return Ok(seen - written);
        }
        std::thread::sleep(Duration::from_millis(50));
        // A page that shows only what is on the screen shows it when one looks further down.
        wheel(tab);
    }
    Ok(f64::INFINITY)
}

fn next_mark(mark: &str) -> String {
    let number: u32 = mark.rsplit(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    format!("{MARK} {:05}", number + 1)
}
