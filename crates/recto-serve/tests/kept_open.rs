//! A page that is kept open all day: it says who waits, gives notices to those who want them,
//! and finds back by itself when the server was started again.

use recto_serve::Listen;
use recto_testkit::chromium::Tab;
use recto_testkit::chromium::browser;

use crate::pages::assert_quiet;
use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::full_home;

/// A process that stands for the client of another session.
struct Other(std::process::Child);

impl Other {
    fn start() -> Other {
        Other(std::process::Command::new("sleep").arg("600").spawn().unwrap())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A page whose notices are counted in place of being shown, as `told`. The browser would ask
/// its user; this one has allowed them.
fn opened_with_notices(test: &Test) -> Tab {
    let mut tab = browser().tab();
    let script = "window.told = []; window.Notification = class extends EventTarget { \
        static permission = 'granted'; \
        static async requestPermission() { return 'granted'; } \
        constructor(title, { body, tag }) { super(); window.told.push([title, body, tag].join('|')); window.last = this; } };";
    let parameters = serde_json::json!({ "source": script });
    tab.call("Page.addScriptToEvaluateOnNewDocument", parameters);
    tab.open(&test.server.login_url());
    tab.wait("document.documentElement.dataset.events === 'open'");
    tab
}

#[test]
#[ignore = "needs a browser"]
fn notices_come_for_sessions_that_begin_to_wait_if_they_are_wanted() {
    let test = Test::new(full_home());
    let mut tab = opened_with_notices(&test);
    let label = "document.querySelector('[data-act=notices]').textContent";
    assert_eq!(tab.text(label), "Desktop notifications: off");
    // Off by default: the title alone says who waits.
    test.home.announce(SESSION, "waiting");
    tab.wait("document.title === '(1) waiting · Home · recto'");
    assert_eq!(tab.number("window.told.length"), 0.0);
    tab.value("document.querySelector('[data-act=notices]').focus()");
    tab.press("Enter");
    tab.wait(&format!("{label} === 'Desktop notifications: on'"));
    assert_eq!(tab.text("document.querySelector('[data-act=notices]').ariaPressed"), "true");
    let other = Other::start();
    test.home.announce_process(other.0.id(), OTHER, "waiting");
    tab.wait("document.title === '(2) waiting · Home · recto'");
    tab.wait("window.told.length > 0");
    // One for the session that is new, none for the one that waited before.
    let told = tab.text("window.told.join('\\n')");
    assert!(told.starts_with("Write the docs|waiting"), "{told}");
    assert!(told.ends_with(OTHER) && !told.contains('\n'), "{told}");
    tab.value("window.last.dispatchEvent(new Event('click'))");
    tab.wait(&format!("location.pathname === '/session/{OTHER}'"));
    // The choice is kept, and how things are when a page opens is not news.
    tab.wait("document.title.startsWith('(2) waiting')");
    assert_eq!(tab.text(label), "Desktop notifications: on");
    assert_eq!(tab.number("window.told.length"), 0.0);
    test.home.announce(SESSION, "busy");
    tab.wait("document.title.startsWith('(1) waiting')");
    assert_eq!(tab.number("window.told.length"), 0.0);
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn a_page_whose_token_is_no_longer_valid_continues_after_a_login_in_another_tab() {
    let test = Test::new(full_home());
    let port = test.address.port();
    let mut tab = browser().tab();
    tab.open(&test.server.login_url());
    let address = format!("{}/session/{SESSION}", test.server.base_url());
    tab.open(&address);
    tab.wait("document.documentElement.dataset.events === 'open'");
    tab.value("window.isOld = true");
    let Test { home, server, .. } = test;
    drop(server);
    // Started again: the same address, another token.
    let again = Test::with(home, |options| {
        options.listen = Listen::Loopback { port: Some(port) };
        options.token = None;
    });
    tab.wait("document.querySelector('.reconnect[role=alert]')");
    assert!(tab.text("document.querySelector('.reconnect').textContent").contains("recto serve"));
    // A page that is opened now says so, and looks again by itself.
    let mut refused = tab.beside();
    refused.open(&address);
    assert_eq!(
        refused.text("document.querySelector('h1').textContent"),
        "This browser is not logged in"
    );
    let mut other = tab.beside();
    other.open(&again.server.login_url());
    for tab in [&mut tab, &mut refused] {
        tab.wait("!window.isOld && document.documentElement?.dataset.events === 'open'");
        assert_eq!(tab.text("location.pathname"), format!("/session/{SESSION}"));
        assert_eq!(tab.value("document.querySelector('.reconnect')"), serde_json::Value::Null);
    }
}
