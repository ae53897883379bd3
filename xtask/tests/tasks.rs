//! The program as a whole. That there is a test of this kind has cargo build the program
//! together with the other tests, and steps of `cargo xtask test` run it.

use std::process::Command;

#[test]
fn without_a_task_the_tasks_are_listed() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stdout).unwrap();
    for task in ["test", "attack", "bench", "oracle", "parity"] {
        assert!(said.contains(&format!("\n  {task} ")), "{task} is not in\n{said}");
    }
}
