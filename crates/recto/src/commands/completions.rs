//! `recto completions`: for shells.

use clap::Args;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;

/// Print completions for a shell
///
/// In bash, zsh and fish, this also completes session ids and titles.
///
/// Examples:
///   recto completions bash > ~/.local/share/bash-completion/completions/recto
///   recto completions zsh > ~/.zfunc/_recto
///   recto completions fish > ~/.config/fish/completions/recto.fish
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Sessions come before options, unless an option is typed.
const BASH: &str = r#"
_recto_sessions() {
    _recto "$@"
    local IFS=$'\n' found
    found=($(recto complete bash -- "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null))
    if ((${#found[@]})); then
        COMPREPLY=("${found[@]}")
    fi
}
complete -F _recto_sessions -o nosort -o bashdefault -o default recto 2>/dev/null ||
    complete -F _recto_sessions -o bashdefault -o default recto
"#;

const ZSH: &str = r#"
_recto_sessions() {
    local -a found
    found=("${(@f)$(recto complete zsh -- recto "${_recto_words[@]}" 2>/dev/null)}")
    _describe -V session found || _default
}
"#;

const FISH: &str = r#"
function __recto_sessions
    recto complete fish -- (commandline -opc) (commandline -ct) 2>/dev/null
end
complete -c recto -n "not __fish_recto_needs_command" -k -a "(__recto_sessions)"
"#;

pub(crate) fn cmd_completions(
    args: &CompletionsArgs,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "recto", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    output.bytes(with_sessions(script, args.shell).as_bytes())?;
    Ok(Outcome::Done)
}

/// The script with what completes sessions.
fn with_sessions(script: String, shell: Shell) -> String {
    match shell {
        Shell::Bash => script + BASH,
        Shell::Zsh => zsh(&script),
        Shell::Fish => script + FISH,
        _ => script,
    }
}

/// Arguments that are sessions are completed by a function; what was typed is kept for it,
/// because the script takes words away.
fn zsh(script: &str) -> String {
    const SESSIONS: [&str; 4] = [":session -- ", ":sessions -- ", ":first -- ", ":second -- "];
    let mut whole = String::with_capacity(script.len() + 1024);
    for line in script.lines() {
        let is_session = SESSIONS.iter().any(|name| line.contains(name));
        match is_session {
            true => whole.push_str(&line.replacen(":_default'", ":_recto_sessions'", 1)),
            false => whole.push_str(line),
        }
        whole.push('\n');
        if line == "_recto() {" {
            whole.push_str("    local -a _recto_words\n");
            whole.push_str("    _recto_words=(\"${(@)words[2,CURRENT]}\")\n");
        }
    }
    // Functions come before the end of the script, which starts it.
    match whole.rfind("if [ \"$funcstack[1]\"") {
        Some(end) => whole.insert_str(end, ZSH.trim_start()),
        None => whole.push_str(ZSH),
    }
    whole
}
