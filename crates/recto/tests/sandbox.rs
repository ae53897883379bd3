//! Commands in the sandbox: what gets out, and what still works. Every fifth attempt of
//! `fixtures/sandbox`; `cargo xtask attack --only sandbox` tries all.

use std::fs;
use std::path::Path;

use recto_testkit::Jail;
use recto_testkit::attacks;
use serde_json::json;

use crate::run::Bench;
use crate::run::ID;
use crate::run::call;
use crate::support::repository;

fn jail() -> Option<Jail> {
    Jail::new(Path::new(env!("CARGO_BIN_EXE_recto")))
}

#[test]
fn nothing_gets_out_of_the_sandbox() {
    let all = attacks(&repository().join("fixtures/sandbox/attacks.jsonl"));
    assert!(all.len() >= 150, "{}", all.len());
    let Some(mut jail) = jail() else { return };
    let tried = all.iter().step_by(5).map(|attack| jail.attack(attack));
    let escapes: Vec<String> = tried.filter_map(Result::err).collect();
    assert_eq!(escapes, Vec::<String>::new());
}

#[test]
fn nothing_gets_out_as_a_user_without_privileges_either() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let all = attacks(&repository().join("fixtures/sandbox/attacks.jsonl"));
    let recto = Path::new(env!("CARGO_BIN_EXE_recto"));
    let Some(mut jail) = Jail::of_user(recto, Some(recto_testkit::NOBODY)) else { return };
    let tried = all.iter().skip(2).step_by(10).map(|attack| jail.attack(attack));
    let escapes: Vec<String> = tried.filter_map(Result::err).collect();
    assert_eq!(escapes, Vec::<String>::new());
}

/// A server that says one sentence to all who reach it, and its port.
fn server() -> u16 {
    use std::io::Read as _;
    use std::io::Write as _;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 18\r\nConnection: close\r\n\r\nreached-the-server",
            );
        }
    });
    port
}

/// A command that asks for a page, as programs do that use the proxy of their environment.
fn fetch(port: u16) -> String {
    format!(
        "exec 9<>/dev/tcp/$(echo ${{http_proxy#http://}} | tr : /); \
         printf 'GET http://localhost:{port}/ HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&9; \
         cat <&9 | tee answer; grep -q reached-the answer || exit 7"
    )
}

#[test]
fn commands_reach_the_domains_that_are_allowed_and_no_other() {
    if jail().is_none() {
        return;
    }
    let port = server();
    let bench = Bench::new(&[
        json!({"contains": "go", "blocks": [{"type": "tool_use", "name": "Bash", "input": {"command": fetch(port)}}]}),
        json!({"text": "done"}),
    ]);
    let options = ["run", "-p", "go", "--dangerously-skip-permissions", "--sandbox"];
    let answer = bench.test.work.path().join("answer");
    bench.run(&options);
    let said = fs::read_to_string(&answer).unwrap();
    assert!(said.contains("403") && said.contains("--allow-domain localhost"), "{said}");
    for (domain, is_reached) in [("localhost", true), ("example.org", false)] {
        bench.run(&[&options[..], &["--allow-domain", domain]].concat());
        let said = fs::read_to_string(&answer).unwrap();
        assert_eq!(said.contains("reached-the-server"), is_reached, "{domain}: {said}");
    }
}

#[test]
fn a_refused_domain_becomes_a_question() {
    if jail().is_none() {
        return;
    }
    let port = server();
    let bench = Bench::new(&[
        json!({"contains": "go", "blocks": [{"type": "tool_use", "name": "Bash", "input": {"command": fetch(port)}}]}),
        json!({"text": "all-done"}),
    ]);
    let mut seat = crate::console::sit(&bench, &[crate::console::FREE]);
    seat.type_keys("go\r");
    seat.wait_for("localhost for", 1);
    seat.type_keys("1");
    seat.wait_for("all-done", 1);
    let answer = bench.test.work.path().join("answer");
    assert!(fs::read_to_string(&answer).unwrap().contains("reached-the-server"));
    // It counts for the rest of the session, and for no other.
    seat.type_keys("go again\r");
    seat.wait_for("all-done", 2);
    assert_eq!(seat.shown().matches("localhost for").count(), 1);
    crate::console::leave(seat);
    let mut seat = crate::console::sit(&bench, &[crate::console::FREE]);
    seat.type_keys("go\r");
    seat.wait_for("localhost for", 1);
    seat.type_keys("2\r");
    seat.wait_for("all-done", 1);
    crate::console::leave(seat);
    assert_eq!(bench.refusals(), Vec::<String>::new());
}

#[test]
fn a_confined_command_writes_here_and_nowhere_else() {
    if jail().is_none() {
        return;
    }
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = outside.path().join("x");
    let command = format!("echo in > inside; echo out > {}", target.display());
    let bench = Bench::new(&[
        json!({"last": "go", "blocks": [call("t1", "Bash", json!({"command": command}))]}),
        json!({"text": "done"}),
    ]);
    let options =
        ["run", "-p", "go", "--session-id", ID, "--dangerously-skip-permissions", "--sandbox"];
    bench.run(&options);
    assert!(bench.test.work.path().join("inside").exists());
    assert!(!target.exists());
    let log = fs::read_to_string(&bench.logs()[0]).unwrap();
    assert!(log.contains("Read-only file system") || log.contains("Permission denied"), "{log}");
    // Without it, the same command does what it says.
    let free = &options[..options.len() - 1];
    let free: Vec<&str> =
        free.iter().copied().filter(|word| *word != "--session-id" && *word != ID).collect();
    bench.run(&free);
    assert!(target.exists());
}

#[test]
fn keys_of_the_environment_stay_outside() {
    if jail().is_none() {
        return;
    }
    let bench = Bench::new(&[
        json!({"last": "go", "blocks": [call("t1", "Bash", json!({"command": "env; cat .env"}))]}),
        json!({"text": "done"}),
    ]);
    fs::write(bench.test.work.path().join(".env"), "PASSWORD=c4n4ry").unwrap();
    bench.run(&["run", "-p", "go", "--dangerously-skip-permissions", "--sandbox"]);
    let log = fs::read_to_string(&bench.logs()[0]).unwrap();
    assert!(log.contains("PATH=") && !log.contains("sk-ant-secret"), "{log}");
    assert!(!log.contains("c4n4ry"), "{log}");
}

#[test]
fn file_tools_do_not_leave_the_sandbox_either() {
    if jail().is_none() {
        return;
    }
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = outside.path().join("x");
    let write = json!({"file_path": target, "content": "x"});
    let out = json!({"command": format!("echo x > {}", target.display()), "dangerouslyDisableSandbox": true});
    let bench = Bench::new(&[
        json!({"last": "go", "blocks": [call("t1", "Write", write), call("t2", "Bash", out)]}),
        json!({"text": "done"}),
    ]);
    bench.run(&["run", "-p", "go", "--dangerously-skip-permissions", "--sandbox"]);
    assert!(!target.exists());
    let log = fs::read_to_string(&bench.logs()[0]).unwrap();
    assert!(log.contains("lets no tool write outside"), "{log}");
    assert!(log.contains("would run outside the sandbox"), "{log}");
}
