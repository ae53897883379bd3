//! A browser that tests and measurements drive, by its own protocol over two pipes.
//!
//! `RECTO_TEST_BROWSER` names the browser of tests. Tests that need it are ignored; `cargo xtask
//! test` runs them where it finds a browser, and counts them as skipped where not. Pipes instead
//! of a port: no other program can connect, and the browser ends when the test does, however
//! that ends. All tests that run at the same time share one browser, each with a tab.

#![allow(clippy::unwrap_used, reason = "a test whose browser fails has failed")]

use std::collections::HashMap;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::process::ChildStdin;
use std::process::Command;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::Weak;
use std::sync::mpsc;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

static SHARED: Mutex<Weak<Browser>> = Mutex::new(Weak::new());

/// Where messages of a tab go.
type Inboxes = Arc<Mutex<HashMap<String, mpsc::Sender<Value>>>>;

/// A browser without a window. It ends when the last tab and this are dropped.
#[derive(Debug)]
pub struct Browser {
    process: Mutex<Child>,
    input: Mutex<ChildStdin>,
    last: Mutex<u64>,
    inboxes: Inboxes,
    _profile: tempfile::TempDir,
}

/// The browser of the tests.
pub fn browser() -> Arc<Browser> {
    let program = crate::tool("RECTO_TEST_BROWSER");
    let mut shared = SHARED.lock().unwrap();
    if let Some(browser) = shared.upgrade() {
        return browser;
    }
    let browser = Browser::start(Path::new(&program), &[]);
    *shared = Arc::downgrade(&browser);
    browser
}

impl Browser {
    /// Starts a browser with a profile of its own; `words` are further words of its command line.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(program: &Path, words: &[&str]) -> Arc<Browser> {
        let profile = tempfile::tempdir().unwrap();
        // The browser reads from its third file and writes to its fourth.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--remote-debugging-pipe"])
            // What moves is painted by the processor here.
            .arg("--force-prefers-reduced-motion")
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .args(words)
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = process.stdout.take().unwrap();
        let inboxes: Inboxes = Arc::default();
        let known = Arc::clone(&inboxes);
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let Ok(message) = message else { break };
                let message: Value = serde_json::from_slice(&message).unwrap();
                let tab = message["sessionId"].as_str().unwrap_or_default();
                if let Some(inbox) = known.lock().unwrap().get(tab) {
                    let _ = inbox.send(message);
                }
            }
            // Who waits for an answer need not wait any longer.
            known.lock().unwrap().clear();
        });
        Arc::new(Browser {
            process: Mutex::new(process),
            input: Mutex::new(input),
            last: Mutex::new(0),
            inboxes,
            _profile: profile,
        })
    }

    fn send(&self, tab: &str, method: &str, parameters: Value) -> u64 {
        let mut last = self.last.lock().unwrap();
        *last += 1;
        let mut message = json!({ "id": *last, "method": method, "params": parameters });
        if !tab.is_empty() {
            message["sessionId"] = tab.into();
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.input.lock().unwrap().write_all(&bytes).unwrap();
        *last
    }

    /// Opens a tab of 1440 by 900, with a profile of its own.
    ///
    /// # Panics
    /// If the browser does not answer.
    pub fn tab(self: &Arc<Browser>) -> Tab {
        self.tab_in(None)
    }

    fn tab_in(self: &Arc<Browser>, profile: Option<Value>) -> Tab {
        // Answers without a tab come one after the other, to who asks just now.
        static ASKING: Mutex<()> = Mutex::new(());
        let asking = ASKING.lock().unwrap();
        let (sender, inbox) = mpsc::channel();
        self.inboxes.lock().unwrap().insert(String::new(), sender);
        let browser = Arc::clone(self);
        let (id, profile) = (String::new(), profile.unwrap_or_default());
        let mut tab = Tab { browser, id, profile, inbox, events: vec![] };
        if tab.profile.is_null() {
            let context = tab.call("Target.createBrowserContext", json!({}));
            tab.profile = context["browserContextId"].clone();
        }
        let target = tab.call(
            "Target.createTarget",
            json!({ "url": "about:blank", "browserContextId": tab.profile }),
        );
        // Events of the tab may come before the answer does.
        let (sender, inbox) = mpsc::channel();
        let attached = tab.call(
            "Target.attachToTarget",
            json!({ "targetId": target["targetId"], "flatten": true }),
        );
        tab.id = attached["sessionId"].as_str().unwrap().to_owned();
        self.inboxes.lock().unwrap().insert(tab.id.clone(), sender);
        tab.inbox = inbox;
        drop(asking);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab.size(1440, 900);
        tab
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let mut process = self.process.lock().unwrap();
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// A tab. It shares its profile with those that were opened beside it.
#[derive(Debug)]
pub struct Tab {
    browser: Arc<Browser>,
    id: String,
    profile: Value,
    inbox: mpsc::Receiver<Value>,
    events: Vec<Value>,
}

impl Tab {
    /// Opens another tab of the same profile: what one logs in to, the other may see.
    pub fn beside(&self) -> Tab {
        self.browser.tab_in(Some(self.profile.clone()))
    }

    /// Asks the browser for something, and waits for the answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.try_call(method, parameters);
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    fn try_call(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.browser.send(&self.id, method, parameters);
        loop {
            let message = self.inbox.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|error| panic!("{method}: {error}"));
            if message["id"] == id {
                return message;
            }
            self.events.push(message);
        }
    }

    /// How large the page is seen.
    pub fn size(&mut self, width: u32, height: u32) {
        let parameters =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", parameters);
    }

    /// Goes to an address and waits until the page is there.
    pub fn open(&mut self, address: &str) {
        let answer = self.call("Page.navigate", json!({ "url": address }));
        assert!(answer["errorText"].is_null(), "{address}: {}", answer["errorText"]);
        self.wait("document.readyState === 'complete'");
    }

    /// Loads the page again and waits until the new one is there: the old one answers until then.
    pub fn reload(&mut self) {
        self.value("window.isOld = true");
        self.call("Page.reload", json!({}));
        self.wait("!window.isOld && document.readyState === 'complete'");
    }

    /// The value of an expression.
    pub fn value(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true }),
        );
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    /// The text of an expression; empty if it is none.
    pub fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    /// The number of an expression.
    pub fn number(&mut self, expression: &str) -> f64 {
        self.value(expression).as_f64().unwrap_or_else(|| panic!("{expression} is no number"))
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, condition: &str) {
        let begun = Instant::now();
        let asked = json!({ "expression": format!("Boolean({condition})"), "returnByValue": true });
        loop {
            // A page that goes away to make room for the next one gives an error.
            let answer = self.try_call("Runtime.evaluate", asked.clone());
            let thrown = &answer["result"]["exceptionDetails"];
            assert!(thrown.is_null(), "{condition}: {thrown}");
            if answer["result"]["result"]["value"] == true {
                break;
            }
            if begun.elapsed() > PATIENCE {
                let page = self.text("document.body.innerText.slice(0, 3000)");
                panic!("{condition} does not come true: {page}");
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Presses a key, as a person does.
    pub fn press(&mut self, key: &str) {
        self.press_with(key, 0);
    }

    /// Presses a key together with Control.
    pub fn press_control(&mut self, key: &str) {
        self.press_with(key, 2);
    }

    fn press_with(&mut self, key: &str, modifiers: u32) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            _ => u32::from(key.to_ascii_uppercase().as_bytes()[0]),
        };
        let mut parameters = json!({
            "type": "keyDown", "key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code,
        });
        if key == "Tab" {
            parameters["code"] = "Tab".into();
        }
        if key == "Enter" {
            parameters["text"] = "\r".into();
        } else if key.len() == 1 && modifiers == 0 {
            parameters["text"] = key.into();
        }
        self.call("Input.dispatchKeyEvent", parameters.clone());
        parameters["type"] = "keyUp".into();
        parameters.as_object_mut().unwrap().remove("text");
        self.call("Input.dispatchKeyEvent", parameters);
    }

    /// Types a text where the focus is.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Clicks at the middle of an element, as a person does: when it stands still and
    /// nothing lies over it.
    pub fn click(&mut self, selector: &str) {
        let selector = serde_json::to_string(selector).unwrap();
        let place = self.value(&format!(
            "(async () => {{ let last = ''; let still = 0; \
             for (let frame = 0; frame < 600; frame++) {{ \
               await new Promise((done) => setTimeout(done, 20)); \
               const e = document.querySelector({selector}); \
               if (!e) {{ still = 0; continue; }} \
               e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
               const r = e.getBoundingClientRect(); \
               const place = [r.x + r.width / 2, r.y + r.height / 2]; \
               const hit = document.elementFromPoint(...place); \
               const now = JSON.stringify(place); \
               still = now === last && hit && (e.contains(hit) || hit.contains(e)) ? still + 1 : 0; \
               last = now; \
               if (still >= 3) return place; \
             }} \
             throw new Error('it never stands still'); }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let parameters = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", parameters);
        }
    }

    /// An image of what is on the screen, as PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        base64(answer["data"].as_str().unwrap_or_default())
    }

    /// The events of a kind that came since they were asked for last.
    pub fn take_events(&mut self, method: &str) -> Vec<Value> {
        // All that came before is in the inbox when this is answered.
        self.value("1");
        let (wanted, rest) = std::mem::take(&mut self.events)
            .into_iter()
            .partition(|event| event["method"] == method);
        self.events = rest;
        wanted
    }

    /// What a page did that no page should do: it asked another server for
    /// something, it was refused something by the policy, a script failed, or a
    /// window came up. Text of a log that acts does one of these.
    pub fn signs(&mut self, origin: &str) -> Vec<String> {
        // All that came before is in the inbox when this is answered.
        self.value("1");
        let mut signs = Vec::new();
        for event in &self.events {
            let parameters = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str().unwrap_or_default();
                    let is_own = url.strip_prefix(origin).is_some_and(|rest| rest.starts_with('/'));
                    if !is_own && !url.starts_with("data:image/svg+xml") && url != "about:blank" {
                        signs.push(format!("asked for {url}"));
                    }
                }
                "Network.webSocketCreated"
                | "Page.javascriptDialogOpening"
                | "Page.windowOpen"
                | "Page.downloadWillBegin"
                | "Runtime.exceptionThrown" => {
                    signs.push(event.to_string());
                }
                "Runtime.consoleAPICalled" => signs.push(event.to_string()),
                "Log.entryAdded" => signs.push(parameters["entry"].to_string()),
                _ => {}
            }
        }
        let pwned = self.value(
            "Object.keys(window).filter((name) => /pwned|__hit/.test(name)).join() + \
             (document.documentElement.dataset.pwned ?? '')",
        );
        if pwned != "" {
            signs.push(format!("window has {pwned}"));
        }
        signs
    }
}

/// The bytes of a text in base64, as the browser writes it.
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0u32, 0);
    for letter in text.bytes() {
        let Some(value) = LETTERS.iter().position(|one| *one == letter) else { continue };
        held = (held << 6) | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}
