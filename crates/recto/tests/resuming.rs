//! Commands that go on with a session work in any shell, whatever home is meant.

use std::fs;

use crate::support::FIX;
use crate::support::TestHome;

#[test]
fn a_home_that_is_named_is_named_to_the_client_too() {
    let test = TestHome::with_sessions();
    let home = test.work.path().join("my home");
    fs::create_dir(&home).unwrap();
    fs::rename(test.home.path().join("projects"), home.join("projects")).unwrap();
    // The path is absolute, because the command goes somewhere else first.
    let named = "CLAUDE_CONFIG_DIR='[work]/my home' claude --resume";
    let find = ["--home", "my home", "search", "role:user", "repair", "--resume", "1"];
    assert_eq!(test.run(&find).stdout, format!("cd /home/dev/app && {named} {FIX}\n"));
    let run = test.run(&["--home", "my home", "clone", FIX]);
    let told = format!("resume it with: cd /home/dev/app && {named} ");
    assert!(run.stdout.contains(&told), "{}", run.shown());
}

#[test]
fn the_home_that_the_client_uses_anyway_is_not_named() {
    let test = TestHome::with_sessions();
    let path = test.home.path().to_str().unwrap();
    for before in [&[][..], &["--home", path]] {
        let run = test.run(&[before, &["clone", FIX]].concat());
        assert!(
            run.stdout.contains("resume it with: cd /home/dev/app && claude --resume "),
            "{}",
            run.shown()
        );
    }
}
