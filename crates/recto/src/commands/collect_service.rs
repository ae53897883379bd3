//! `recto collect install`: a service of the user that collects from login on.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use fs_err as fs;
use recto_store::Home;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// The name of the service.
const UNIT: &str = "recto-collect.service";
const LABEL: &str = "recto.collect";

/// A service file, and the commands that start and stop it.
struct Service {
    path: PathBuf,
    content: String,
    start: Vec<Vec<String>>,
    stop: Vec<Vec<String>>,
}

pub(crate) fn install(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    archive: Option<&str>,
    is_dry: bool,
) -> Result<Outcome, CommandError> {
    let program = Environment::program()?;
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(["--home".to_owned(), absolute(home.root())?]);
    words.extend(["collect".to_owned(), "--watch".to_owned()]);
    if let Some(archive) = archive {
        words.extend(["--to".to_owned(), archive.to_owned()]);
    }
    let service = service(environment, &words)?;
    if is_dry {
        output.line(&format!("# {}", one_line(&service.path.to_string_lossy())))?;
        for line in service.content.lines() {
            output.line(&one_line(line))?;
        }
        for command in &service.start {
            output.line(&format!("# {}", one_line(&command.join(" "))))?;
        }
        return Ok(Outcome::Done);
    }
    if let Some(folder) = service.path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&service.path, &service.content)?;
    for command in &service.start {
        run(command)?;
    }
    let path = one_line(&service.path.to_string_lossy());
    output.line(&format!("installed {path}; collecting starts at login"))?;
    Ok(Outcome::Done)
}

pub(crate) fn uninstall(
    environment: &Environment,
    output: &mut Output,
    is_dry: bool,
) -> Result<Outcome, CommandError> {
    let service = service(environment, &[])?;
    let path = one_line(&service.path.to_string_lossy());
    if !service.path.is_file() {
        output.line(&format!("not installed: {path}"))?;
        return Ok(Outcome::Found);
    }
    if is_dry {
        output.line(&format!("would remove {path}"))?;
        return Ok(Outcome::Done);
    }
    for command in &service.stop {
        // A service that does not run is as good as stopped.
        if let Err(error) = run(command) {
            output.remark(&error.to_string());
        }
    }
    fs::remove_file(&service.path)?;
    output.line(&format!("removed {path}; the archive stays"))?;
    Ok(Outcome::Done)
}

fn service(environment: &Environment, words: &[String]) -> Result<Service, CommandError> {
    let Some(user_home) = &environment.user_home else {
        return Err(CommandError::user("home-unknown", "the user's home directory is not known"));
    };
    if cfg!(target_os = "macos") {
        return Ok(launchd(user_home, words));
    }
    if cfg!(target_os = "linux") {
        let config = environment.config_home.clone().unwrap_or_else(|| user_home.join(".config"));
        return Ok(systemd(&config, words));
    }
    let error = CommandError::user("unsupported", "no service manager is supported here");
    Err(error.with_hint("run `recto collect --watch` from your own startup scripts"))
}

fn systemd(config: &Path, words: &[String]) -> Service {
    let quoted: Vec<String> = words.iter().map(|word| quote_for_systemd(word)).collect();
    let content = format!(
        "[Unit]\n\
         Description=Archive Claude Code sessions\n\n\
         [Service]\n\
         ExecStart={}\n\
         Restart=on-failure\n\
         RestartSec=10\n\
         Nice=19\n\
         IOSchedulingClass=idle\n\n\
         [Install]\n\
         WantedBy=default.target\n",
        quoted.join(" ")
    );
    let control = |words: &[&str]| -> Vec<String> {
        ["systemctl", "--user"].iter().chain(words).map(|word| (*word).to_owned()).collect()
    };
    Service {
        path: config.join("systemd/user").join(UNIT),
        content,
        start: vec![control(&["daemon-reload"]), control(&["enable", "--now", UNIT])],
        stop: vec![control(&["disable", "--now", UNIT])],
    }
}

fn launchd(user_home: &Path, words: &[String]) -> Service {
    let path = user_home.join("Library/LaunchAgents").join(format!("{LABEL}.plist"));
    let arguments: String = words
        .iter()
        .map(|word| format!("    <string>{}</string>\n", escape_for_xml(word)))
        .collect();
    let content = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <plist version=\"1.0\">\n<dict>\n\
         \x20 <key>Label</key><string>{LABEL}</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n{arguments}  </array>\n\
         \x20 <key>RunAtLoad</key><true/>\n\
         \x20 <key>KeepAlive</key><true/>\n\
         \x20 <key>ProcessType</key><string>Background</string>\n\
         \x20 <key>Nice</key><integer>19</integer>\n\
         </dict>\n</plist>\n"
    );
    let control = |word: &str| {
        vec![
            "launchctl".to_owned(),
            word.to_owned(),
            "-w".to_owned(),
            path.to_string_lossy().into_owned(),
        ]
    };
    let (start, stop) = (vec![control("load")], vec![control("unload")]);
    Service { path, content, start, stop }
}

/// A word of a command line of systemd: in quotes, with what means something there escaped.
fn quote_for_systemd(word: &str) -> String {
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.push_str("%%"),
            '$' => quoted.push_str("$$"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn escape_for_xml(word: &str) -> String {
    word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn absolute(path: &Path) -> Result<String, CommandError> {
    Ok(std::path::absolute(path)?.to_string_lossy().into_owned())
}

fn run(command: &[String]) -> Result<(), CommandError> {
    let Some((program, words)) = command.split_first() else { return Ok(()) };
    let text = one_line(&command.join(" "));
    match Command::new(program).args(words).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let message = format!("`{text}` failed: {status}");
            Err(CommandError::user("service", message)
                .with_hint("the service file is written; start it by hand"))
        }
        Err(error) => Err(CommandError::user("service", format!("`{text}` failed: {error}"))
            .with_hint("run `recto collect --watch` from your own startup scripts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vec<String> {
        ["/opt/recto", "--home", "/home/a b/.claude", "collect", "--to", "100%\"$x\""]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn words_of_a_unit_mean_themselves() {
        let unit = systemd(Path::new("/home/dev/.config"), &words());
        assert_eq!(unit.path, Path::new("/home/dev/.config/systemd/user/recto-collect.service"));
        let line = unit.content.lines().find(|line| line.starts_with("ExecStart")).unwrap();
        assert_eq!(
            line,
            r#"ExecStart="/opt/recto" "--home" "/home/a b/.claude" "collect" "--to" "100%%\"$$x\"""#
        );
        assert!(unit.content.contains("Nice=19"));
    }

    #[test]
    fn words_of_a_plist_mean_themselves() {
        let mut words = words();
        words.push("<a>&".to_owned());
        let plist = launchd(Path::new("/Users/dev"), &words);
        assert_eq!(plist.path, Path::new("/Users/dev/Library/LaunchAgents/recto.collect.plist"));
        assert!(plist.content.contains("<string>&lt;a&gt;&amp;</string>"));
        assert!(plist.content.contains("<string>/home/a b/.claude</string>"));
    }
}
