//! `recto serve`: the program starts, answers who has its address, and ends.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpStream;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use crate::support::FIX;
use crate::support::TestHome;

/// A server that is ended, whatever the test does.
pub(crate) struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start(test: &TestHome, arguments: &[&str]) -> (Served, String) {
    let arguments = [&["serve", "--port", "0"], arguments].concat();
    started(test.command(&arguments))
}

/// The same with another environment.
pub(crate) fn started(mut command: Command) -> (Served, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (Served(child), line.trim().to_owned())
}

/// The answer to a request, and the first cookie that it sets.
pub(crate) fn get(url: &str, more: &str) -> String {
    ask("GET", url, more, "")
}

/// The answer to a request that changes something.
pub(crate) fn post(url: &str, more: &str, body: &str) -> String {
    let more =
        format!("{more}Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    ask("POST", url, &more, body)
}

fn ask(method: &str, url: &str, more: &str, body: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_printed_address_lets_a_browser_in_once() {
    let test = TestHome::with_sessions();
    let (_served, url) = start(&test, &[]);
    assert!(url.starts_with("http://127.0.0.1:") && url.contains("/login?code="), "{url}");
    let base = url.split("/login").next().unwrap();
    assert!(get(base, "").starts_with("HTTP/1.1 401"));
    let answer = get(&url, "");
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let page = get(base, &format!("Cookie: {cookie}\r\n"));
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(get(&url, "").starts_with("HTTP/1.1 401"));
}

#[test]
fn the_address_is_told_as_json_and_a_signal_ends_the_server() {
    let test = TestHome::with_sessions();
    let (mut served, line) = start(&test, &["--json"]);
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    let (url, base) = (value["url"].as_str().unwrap(), value["base"].as_str().unwrap());
    assert!(url.starts_with(base));
    assert_eq!(value["socket"], serde_json::Value::Null);
    #[cfg(unix)]
    {
        let pid = i32::try_from(served.0.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_eq!(served.0.wait().unwrap().code(), Some(0));
    }
    let _ = &mut served;
}

/// The cookie that the printed address gives.
fn cookie(url: &str) -> String {
    let answer = get(url, "");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// Asks for a new title as a page does.
fn rename(base: &str, cookie: &str, title: &str) -> String {
    let host = base.strip_prefix("http://").unwrap();
    let body = format!("{{\"title\":\"{title}\"}}");
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "POST /api/v1/sessions/{FIX}/title HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Origin: {base}\r\nCookie: {cookie}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn titles_are_changed_where_that_is_allowed_and_the_commands_know_of_it() {
    let test = TestHome::with_sessions();
    let (served, url) = start(&test, &[]);
    let base = url.split("/login").next().unwrap();
    let answer = rename(base, &cookie(&url), "Mended");
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("--allow-edits"), "{answer}");
    assert_eq!(test.run(&["log"]).code, 1);
    drop(served);
    let (_served, url) = start(&test, &["--allow-edits"]);
    let base = url.split("/login").next().unwrap();
    let answer = rename(base, &cookie(&url), "Mended");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(test.run(&["ls"]).stdout.contains("Mended"));
    let told = test.run(&["undo"]).stdout;
    assert!(told.starts_with(&format!("undid operation 1: rename {FIX} Mended\n")), "{told}");
    assert!(!test.run(&["ls"]).stdout.contains("Mended"));
}

#[test]
fn an_address_that_others_reach_needs_a_good_token() {
    let test = TestHome::empty();
    let run = test.run(&["serve", "--listen", "0.0.0.0"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--token-file"), "{}", run.stderr);
    let weak = test.home.write("token", "short");
    let weak = weak.to_str().unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let run = test.run(&["serve", "--port", "0", "--token-file", weak]);
        assert!(run.stderr.contains("other users can read it"), "{}", run.stderr);
        std::fs::set_permissions(weak, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let run = test.run(&["serve", "--listen", "0.0.0.0", "--token-file", weak]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("the token has 5 characters"), "{}", run.stderr);
    let run = test.run(&["serve", "--listen", "my.host", "--token-file", weak]);
    assert!(run.stderr.contains("for --listen"), "{}", run.stderr);
}

/// Nobody else on the machine can log in: the address is in no argument and no variable of
/// any process, and the page that has it is for its user alone.
#[cfg(target_os = "linux")]
#[test]
fn the_address_that_a_browser_is_given_is_seen_by_no_other_user() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    const NOBODY: u32 = 65_534;
    let test = TestHome::with_sessions();
    let programs = test.work.path().join("bin");
    let given = test.work.path().join("given");
    fs::create_dir(&programs).unwrap();
    // It says what it was given when it is all there, and stays so that it can be looked at.
    let script = format!(
        "#!/bin/sh\nprintf '%s' \"$*\" > {0}.tmp\nmv {0}.tmp {0}\nsleep 60\n",
        given.display()
    );
    let browser = programs.join("xdg-open");
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = test.command(&["serve", "--port", "0", "--open"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    command.env("XDG_RUNTIME_DIR", test.user.path()).process_group(0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let group = child.id();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let code = url.trim().split("code=").nth(1).unwrap().to_owned();
    let served = Served(child);
    let mut waited = 0;
    while !given.exists() {
        waited += 1;
        assert!(waited < 3000, "no browser was started");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // What all users see, and what root sees beyond that.
    let mut seen = 0;
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        for name in ["cmdline", "environ"] {
            let Ok(bytes) = fs::read(entry.path().join(name)) else { continue };
            seen += 1;
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(&code), "{}/{name}", entry.path().display());
        }
    }
    assert!(seen > 4);
    let page = fs::read_to_string(&given).unwrap();
    assert!(!page.contains(&code) && page.starts_with(test.user.path().to_str().unwrap()));
    assert!(fs::read_to_string(&page).unwrap().contains(url.trim()), "the browser finds its way");
    let mut other = Command::new("cat");
    other.arg(&page);
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        // The directories above are open to all: only the page's own protects it.
        fs::set_permissions(test.user.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let output = other.uid(NOBODY).gid(NOBODY).output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
    }
    // The page goes with the server.
    Command::new("kill").arg(group.to_string()).status().unwrap();
    let mut waited = 0;
    while fs::exists(&page).unwrap() {
        waited += 1;
        assert!(waited < 3000, "the page is left behind");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Command::new("kill").arg("--").arg(format!("-{group}")).status().unwrap();
    drop(served);
}

/// A browser that opens a file says that another site leads it here. Only the code of the
/// page lets it in, and by a way that its cookie goes along.
#[test]
fn a_browser_that_comes_from_the_page_is_let_in_once() {
    let test = TestHome::with_sessions();
    let (_served, url) = start(&test, &[]);
    let base = url.split("/login").next().unwrap();
    let from_file = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\
                     Sec-Fetch-Dest: document\r\n";
    let wrong = format!("{base}/login?code=0000");
    assert!(get(&wrong, from_file).starts_with("HTTP/1.1 403"));
    for other in [
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n",
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n",
        "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n",
    ] {
        assert!(get(&url, other).starts_with("HTTP/1.1 403"), "{other}");
    }
    let origin = format!("{from_file}Origin: null\r\n");
    assert!(get(&url, &origin).starts_with("HTTP/1.1 403"));
    let answer = get(&url, from_file);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("url=/"), "{answer}");
    assert!(answer.contains("set-cookie: ") && answer.contains("SameSite=Strict"), "{answer}");
    assert!(get(&url, from_file).starts_with("HTTP/1.1 403"), "the code is used up");
}
