//! Going to the tmux pane that a session runs in.

use std::collections::HashMap;
use std::process::Command;

/// Goes to the pane of a process, in the tmux that recto runs in.
pub(crate) fn go_to(pid: u32) -> Result<(), String> {
    let panes = run("tmux", &["list-panes", "-a", "-F", "#{pane_pid} #{pane_id}"])?;
    let processes = run("ps", &["-A", "-o", "pid=,ppid="])?;
    let pane = pane_of(pid, &panes, &processes)
        .ok_or_else(|| format!("process {pid} is not in a pane of this tmux"))?;
    run("tmux", &["switch-client", "-t", &pane]).map(drop)
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("cannot run {program}: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} failed: {}", why.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The pane whose first process is the process or one above it.
fn pane_of(pid: u32, panes: &str, processes: &str) -> Option<String> {
    let panes: HashMap<u32, &str> = panes.lines().filter_map(pane).collect();
    let parents: HashMap<u32, u32> = processes.lines().filter_map(process).collect();
    let mut at = pid;
    // No process is so deep; a circle would be an error of the list.
    for _ in 0..parents.len() {
        if let Some(pane) = panes.get(&at) {
            return Some((*pane).to_owned());
        }
        at = *parents.get(&at)?;
    }
    None
}

fn pane(line: &str) -> Option<(u32, &str)> {
    let (pid, pane) = line.trim().split_once(' ')?;
    Some((pid.parse().ok()?, pane))
}

fn process(line: &str) -> Option<(u32, u32)> {
    let mut words = line.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pane_is_that_of_the_nearest_process_above() {
        let panes = "100 %0\n200 %7\n";
        let processes = "    1     0\n  100     1\n  200     1\n  201   200\n  202   201\n";
        assert_eq!(pane_of(202, panes, processes).as_deref(), Some("%7"));
        assert_eq!(pane_of(100, panes, processes).as_deref(), Some("%0"));
        assert_eq!(pane_of(1, panes, processes), None);
        assert_eq!(pane_of(999, panes, processes), None);
        assert_eq!(pane_of(5, "", "5 6\n6 5\n"), None, "a circle ends");
    }
}
